// SPDX-License-Identifier: Apache-2.0

// The records of the protocol and how each request is read.

package jute

import "fmt"

// ID is one identity: a scheme (world, digest, ip, ...) and a name within it.
type ID struct {
	Scheme, ID string
}

// ACL grants Perms (Perm bits) to one identity.
type ACL struct {
	Perms int32
	ID    ID
}

// Stat describes a znode. Times are milliseconds since 1970.
type Stat struct {
	Czxid, Mzxid, Ctime, Mtime  int64
	Version, Cversion, Aversion int32
	EphemeralOwner              int64
	DataLength, NumChildren     int32
	Pzxid                       int64
}

// ConnectRequest opens or resumes a session. Timeout is in milliseconds.
type ConnectRequest struct {
	ProtocolVersion int32
	LastZxid        int64
	Timeout         int32
	Session         int64
	Password        []byte
	ReadOnly        bool
	HasReadOnly     bool // clients before 3.4 do not send the last byte
}

// DecodeConnect reads the first frame of a connection.
func DecodeConnect(frame []byte) (ConnectRequest, error) {
	d := NewDecoder(frame)
	r := ConnectRequest{
		ProtocolVersion: d.Int(), LastZxid: d.Long(), Timeout: d.Int(), Session: d.Long(), Password: d.Buffer(),
	}
	if d.Err() == nil && d.Remaining() > 0 {
		r.ReadOnly, r.HasReadOnly = d.Bool(), true
	}
	if err := d.Err(); err != nil {
		return r, fmt.Errorf("read connect request: %w", err)
	}
	return r, nil
}

// ConnectResponse answers a ConnectRequest. A zero session means that the session
// is gone. WithReadOnly must be what the client sent.
type ConnectResponse struct {
	Timeout      int32
	Session      int64
	Password     []byte
	WithReadOnly bool
}

// Append appends the answer.
func (r ConnectResponse) Append(b []byte) []byte {
	b = AppendInt(b, 0)
	b = AppendInt(b, r.Timeout)
	b = AppendLong(b, r.Session)
	b = AppendBuffer(b, r.Password)
	if r.WithReadOnly {
		b = AppendBool(b, false)
	}
	return b
}

// Write is any request that changes one znode, or checks one (OpCheck).
// Fields that a kind does not have are zero.
type Write struct {
	Op      Op
	Path    string
	Data    []byte // shares memory with the frame
	ACL     []ACL
	Flags   int32
	TTL     int64 // milliseconds, -1 if the kind has none
	Version int32 // -1 matches every version
}

// IsWrite tells whether op is read by Decoder.Write.
func IsWrite(op Op) bool {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpSetACL, OpCheck:
		return true
	default:
		return false
	}
}

// Write reads the body of a request for which IsWrite holds.
func (d *Decoder) Write(op Op) Write {
	w := Write{Op: op, TTL: -1}
	w.Path = d.String()
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		w.Data = d.Buffer()
		w.ACL = d.ACLs()
		w.Flags = d.Int()
		if op == OpCreateTTL {
			w.TTL = d.Long()
		}
	case OpSetData:
		w.Data = d.Buffer()
		w.Version = d.Int()
	case OpSetACL:
		w.ACL = d.ACLs()
		w.Version = d.Int()
	default: // OpDelete, OpCheck
		w.Version = d.Int()
	}
	return w
}

// Append appends the body of the request, for clients and tests.
func (w Write) Append(b []byte) []byte {
	b = AppendString(b, w.Path)
	switch w.Op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		b = AppendBuffer(b, w.Data)
		b = AppendACLs(b, w.ACL)
		b = AppendInt(b, w.Flags)
		if w.Op == OpCreateTTL {
			b = AppendLong(b, w.TTL)
		}
	case OpSetData:
		b = AppendBuffer(b, w.Data)
		b = AppendInt(b, w.Version)
	case OpSetACL:
		b = AppendACLs(b, w.ACL)
		b = AppendInt(b, w.Version)
	default:
		b = AppendInt(b, w.Version)
	}
	return b
}

// Multi reads the parts of a multi. Kinds that a multi cannot hold are an error.
func (d *Decoder) Multi() ([]Write, error) {
	var ws []Write
	for {
		op, done := Op(d.Int()), d.Bool()
		d.Int()
		if d.Err() != nil || done {
			return ws, d.Err()
		}
		if !IsWrite(op) || op == OpSetACL {
			return nil, fmt.Errorf("multi: part %d has kind %d", len(ws), op)
		}
		ws = append(ws, d.Write(op))
	}
}

// Read is one part of a multiRead.
type Read struct {
	Op    Op
	Path  string
	Watch bool
}

// MultiRead reads the parts of a multiRead.
func (d *Decoder) MultiRead() ([]Read, error) {
	var rs []Read
	for {
		op, done := Op(d.Int()), d.Bool()
		d.Int()
		if d.Err() != nil || done {
			return rs, d.Err()
		}
		if op != OpGetData && op != OpGetChildren {
			return nil, fmt.Errorf("multiRead: part %d has kind %d", len(rs), op)
		}
		rs = append(rs, Read{Op: op, Path: d.String(), Watch: d.Bool()})
	}
}

// Watches is what a client had set before it reconnected. Zxid is the last change
// it has seen: watched things that changed later are reported at once.
type Watches struct {
	Zxid                                           int64
	Data, Exist, Child, Persistent, PersistentDeep []string
}

// Watches reads setWatches, or setWatches2 if persistent is true.
func (d *Decoder) Watches(persistent bool) Watches {
	w := Watches{Zxid: d.Long(), Data: d.Strings(), Exist: d.Strings(), Child: d.Strings()}
	if persistent {
		w.Persistent, w.PersistentDeep = d.Strings(), d.Strings()
	}
	return w
}

// Auth is the body of an auth request.
type Auth struct {
	Scheme string
	Data   []byte
}

// Auth reads an auth request.
func (d *Decoder) Auth() Auth {
	d.Int() // always 0
	return Auth{Scheme: d.String(), Data: d.Buffer()}
}
