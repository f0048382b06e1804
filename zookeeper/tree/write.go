// SPDX-License-Identifier: Apache-2.0

// Requests that change the tree: checked in the order in which the original checks,
// because that decides which error a client sees.

package tree

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/gust-stream/gust/zookeeper/jute"
)

// Result answers one write. Path is set for creations, Stat where the kind has one.
type Result struct {
	Op   jute.Op
	Code jute.Code
	Path string
	Stat jute.Stat
}

// change is a checked write: what will happen, with sequence number, ACL and
// version worked out. It is also what the log keeps.
type change struct {
	op      jute.Op // OpCreate, OpDelete, OpSetData, OpSetACL; OpCheck changes nothing
	path    string
	data    []byte
	acl     []jute.ACL
	owner   int64
	version int32
}

// Write does one write for c at wall-clock time now (ms). On success it appends the
// change to log (for the durable log; nothing if the write only checks) and returns
// the longer slice.
func (t *Tree) Write(c *Client, now int64, w jute.Write, log []byte) (Result, []byte) {
	ch, code := t.prepare(c, w)
	if code != jute.OK {
		return Result{Op: w.Op, Code: code}, log
	}
	if ch.op == jute.OpCheck {
		return Result{Op: w.Op}, log
	}
	zxid := t.zxid + 1
	log = appendTxn(log, txnChange, zxid, now, c.Session)
	log = append(appendChange(log, ch), endChanges)
	r := t.apply(w.Op, ch, zxid, now)
	t.commit(zxid)
	return r, log
}

// Multi does all writes or none. If one fails, its result carries the code, those
// before it OK and those behind it RuntimeInconsistency.
func (t *Tree) Multi(c *Client, now int64, ws []jute.Write, log []byte) (results []Result, out []byte, ok bool) {
	results = make([]Result, len(ws))
	zxid, start := t.zxid+1, len(log)
	log = appendTxn(log, txnChange, zxid, now, c.Session)
	head := len(log)
	t.recordUndo = true
	for i, w := range ws {
		ch, code := t.prepare(c, w)
		if code != jute.OK {
			t.rollback()
			for j := range results {
				results[j] = Result{Op: jute.OpError}
				if j > i {
					results[j].Code = jute.RuntimeInconsistency
				}
			}
			results[i].Code = code
			return results, log[:start], false
		}
		results[i] = Result{Op: w.Op}
		if ch.op != jute.OpCheck {
			log = appendChange(log, ch)
			results[i] = t.apply(w.Op, ch, zxid, now)
		}
	}
	t.commitUndo()
	if len(log) == head {
		return results, log[:start], true
	}
	t.commit(zxid)
	return results, append(log, endChanges), true
}

// prepare checks one write against the tree as it is now.
func (t *Tree) prepare(c *Client, w jute.Write) (change, jute.Code) {
	if t.sessions[c.Session] == nil {
		return change{}, jute.SessionExpired
	}
	switch w.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return t.prepareCreate(c, w)
	case jute.OpDelete:
		return t.prepareDelete(c, w)
	case jute.OpSetData:
		n, code := t.writable(c, w.Path, jute.PermWrite)
		if code != jute.OK {
			return change{}, code
		}
		version, ok := next(n.version, w.Version)
		if !ok {
			return change{}, jute.BadVersion
		}
		return change{op: jute.OpSetData, path: w.Path, data: bytes.Clone(w.Data), version: version}, jute.OK
	case jute.OpSetACL:
		return t.prepareSetACL(c, w)
	case jute.OpCheck:
		n, code := t.writable(c, w.Path, jute.PermRead)
		if code != jute.OK {
			return change{}, code
		}
		if _, ok := next(n.version, w.Version); !ok {
			return change{}, jute.BadVersion
		}
		return change{op: jute.OpCheck}, jute.OK
	default:
		return change{}, jute.Unimplemented
	}
}

// next is the version after a change by a client that expects the given one.
func next(current, expected int32) (int32, bool) {
	return current + 1, expected == -1 || expected == current
}

// writable finds the znode of a setData or check.
func (t *Tree) writable(c *Client, path string, perm int32) (*node, jute.Code) {
	if !validPath(path) {
		return nil, jute.BadArguments
	}
	return t.readable(c, path, perm)
}

func (t *Tree) prepareSetACL(c *Client, w jute.Write) (change, jute.Code) {
	if !validPath(w.Path) {
		return change{}, jute.BadArguments
	}
	acl, ok := expandACL(w.ACL, c.Auth)
	if !ok {
		return change{}, jute.InvalidACL
	}
	n, code := t.readable(c, w.Path, jute.PermAdmin)
	if code != jute.OK {
		return change{}, code
	}
	version, ok := next(n.aversion, w.Version)
	if !ok {
		return change{}, jute.BadVersion
	}
	return change{op: jute.OpSetACL, path: w.Path, acl: acl, version: version}, jute.OK
}

func (t *Tree) prepareDelete(c *Client, w jute.Write) (change, jute.Code) {
	if strings.IndexByte(w.Path, '/') < 0 || strings.IndexByte(w.Path, 0) >= 0 || special(w.Path) {
		return change{}, jute.BadArguments
	}
	parent, _ := split(w.Path)
	if _, code := t.readable(c, parent, jute.PermDelete); code != jute.OK {
		return change{}, code
	}
	n := t.nodes[w.Path]
	switch {
	case n == nil:
		return change{}, jute.NoNode
	case w.Version != -1 && w.Version != n.version:
		return change{}, jute.BadVersion
	case len(n.children) > 0:
		return change{}, jute.NotEmpty
	}
	return change{op: jute.OpDelete, path: w.Path}, jute.OK
}

// owner works out a new znode's ephemeralOwner, or why it cannot be made.
func owner(c *Client, w jute.Write) (owner int64, sequential bool, code jute.Code) {
	switch w.Flags {
	case jute.FlagPersistent, jute.FlagPersistent | jute.FlagSequential, jute.FlagContainer:
	case jute.FlagEphemeral, jute.FlagEphemeralSequential:
		owner = c.Session
	case jute.FlagPersistentTTL, jute.FlagPersistentSequentialTTL:
		// As in a ZooKeeper without zookeeper.extendedTypesEnabled, its default.
		return 0, false, jute.Unimplemented
	default:
		return 0, false, jute.BadArguments
	}
	if w.Op == jute.OpCreateTTL && w.TTL >= 0 {
		return 0, false, jute.BadArguments
	}
	if w.Op == jute.OpCreateContainer {
		owner = ContainerOwner
	}
	return owner, w.Flags&jute.FlagSequential != 0 && w.Flags < jute.FlagContainer, jute.OK
}

func (t *Tree) prepareCreate(c *Client, w jute.Write) (change, jute.Code) {
	owner, sequential, code := owner(c, w)
	if code != jute.OK {
		return change{}, code
	}
	if strings.IndexByte(w.Path, '/') < 0 || strings.IndexByte(w.Path, 0) >= 0 {
		return change{}, jute.BadArguments
	}
	acl, ok := expandACL(w.ACL, c.Auth)
	if !ok {
		return change{}, jute.InvalidACL
	}
	parentPath, _ := split(w.Path)
	parent, code := t.readable(c, parentPath, jute.PermCreate)
	if code != jute.OK {
		return change{}, code
	}
	path := w.Path
	if sequential {
		path = fmt.Sprintf("%s%010d", path, parent.cversion)
	}
	switch {
	case !validPath(path):
		return change{}, jute.BadArguments
	case t.nodes[path] != nil:
		return change{}, jute.NodeExists
	case parent.ephemeral():
		return change{}, jute.NoChildrenForEphemerals
	}
	return change{op: jute.OpCreate, path: path, data: bytes.Clone(w.Data), acl: acl, owner: owner}, jute.OK
}

// apply does a checked change. op is what the client called it.
func (t *Tree) apply(op jute.Op, ch change, zxid, now int64) Result {
	r := Result{Op: op}
	switch ch.op {
	case jute.OpCreate:
		n := t.create(ch.path, ch.data, ch.acl, ch.owner, zxid, now)
		r.Path, r.Stat = n.path, n.stat()
	case jute.OpDelete:
		t.remove(t.nodes[ch.path], zxid)
	case jute.OpSetData:
		n := t.nodes[ch.path]
		t.setData(n, ch.data, ch.version, zxid, now)
		r.Stat = n.stat()
	default: // OpSetACL
		n := t.nodes[ch.path]
		t.setACL(n, ch.acl, ch.version)
		r.Stat = n.stat()
	}
	return r
}

// commit makes zxid the last change and lets watches fire.
func (t *Tree) commit(zxid int64) {
	t.zxid = zxid
	t.fire()
}
