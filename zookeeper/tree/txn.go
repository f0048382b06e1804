// SPDX-License-Identifier: Apache-2.0

// The changes as bytes, and how they are done again. Format version 1 of a
// transaction: u8 kind, i64 zxid, i64 time, i64 session, then the body.

package tree

import (
	"bytes"
	"fmt"

	"github.com/gust-stream/gust/zookeeper/jute"
)

const (
	txnOpen   byte = 1 // body: i32 timeout
	txnClose  byte = 2 // no body; which znodes go follows from the state
	txnChange byte = 3 // body: changes, ended by a zero byte
	txnSkip   byte = 4 // no body; zxid jumps
)

// endChanges ends the body of a txnChange; no request kind has number zero.
const endChanges byte = 0

func appendTxn(b []byte, kind byte, zxid, now, session int64) []byte {
	b = append(b, kind)
	b = jute.AppendLong(b, zxid)
	b = jute.AppendLong(b, now)
	return jute.AppendLong(b, session)
}

// appendChange appends u8 op, the path and the op's own fields.
func appendChange(b []byte, c change) []byte {
	b = append(b, byte(c.op))
	b = jute.AppendString(b, c.path)
	switch c.op {
	case jute.OpCreate:
		b = jute.AppendBuffer(b, c.data)
		b = jute.AppendACLs(b, c.acl)
		b = jute.AppendLong(b, c.owner)
	case jute.OpSetData:
		b = jute.AppendBuffer(b, c.data)
		b = jute.AppendInt(b, c.version)
	case jute.OpSetACL:
		b = jute.AppendACLs(b, c.acl)
		b = jute.AppendInt(b, c.version)
	default: // OpDelete: the path says it all
	}
	return b
}

func readChange(d *jute.Decoder, op jute.Op) change {
	c := change{op: op, path: d.String()}
	switch op {
	case jute.OpCreate:
		c.data = bytes.Clone(d.Buffer())
		c.acl = d.ACLs()
		c.owner = d.Long()
	case jute.OpSetData:
		c.data = bytes.Clone(d.Buffer())
		c.version = d.Int()
	case jute.OpSetACL:
		c.acl = d.ACLs()
		c.version = d.Int()
	default:
	}
	return c
}

// Replay does all transactions of one log frame again. Those that the tree already
// has (from a snapshot) are passed over; a gap is an error, and so is a change that
// does not fit: the log is then not this tree's. No events come of it.
func (t *Tree) Replay(frame []byte) error {
	d := jute.NewDecoder(frame)
	for d.Remaining() > 0 {
		if err := t.replayTxn(d); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tree) replayTxn(d *jute.Decoder) error {
	kind, zxid, now, id := d.Byte(), d.Long(), d.Long(), d.Long()
	if err := d.Err(); err != nil {
		return fmt.Errorf("transaction header: %w", err)
	}
	skip := zxid <= t.zxid
	if zxid > t.zxid+1 && kind != txnSkip {
		return fmt.Errorf("transaction 0x%x follows 0x%x: those between are missing", zxid, t.zxid)
	}
	switch kind {
	case txnOpen:
		timeout := d.Int()
		if !skip {
			t.sessions[id] = &session{timeout: timeout}
		}
	case txnClose:
		if !skip {
			if t.sessions[id] == nil {
				return fmt.Errorf("transaction 0x%x closes session 0x%x, which is not open", zxid, id)
			}
			t.closeSession(id, zxid)
		}
	case txnChange:
		if err := t.replayChanges(d, zxid, now, skip); err != nil {
			return fmt.Errorf("transaction 0x%x: %w", zxid, err)
		}
	case txnSkip:
	default:
		return fmt.Errorf("transaction 0x%x has unknown kind %d", zxid, kind)
	}
	if err := d.Err(); err != nil {
		return fmt.Errorf("transaction 0x%x: %w", zxid, err)
	}
	t.triggers = t.triggers[:0]
	t.events, t.eventBytes = t.events[:0], 0
	t.zxid = max(t.zxid, zxid)
	return nil
}

func (t *Tree) replayChanges(d *jute.Decoder, zxid, now int64, skip bool) error {
	for {
		op := d.Byte()
		if op == endChanges || d.Err() != nil {
			return d.Err()
		}
		c := readChange(d, jute.Op(op))
		if err := d.Err(); err != nil {
			return err
		}
		if skip {
			continue
		}
		if err := t.fits(c); err != nil {
			return err
		}
		t.apply(c.op, c, zxid, now)
	}
}

// fits tells why a change from the log cannot be done to this tree.
func (t *Tree) fits(c change) error {
	n := t.nodes[c.path]
	switch c.op {
	case jute.OpCreate:
		if !validPath(c.path) || n != nil {
			return fmt.Errorf("create %q: path is bad or exists", c.path)
		}
		parent, _ := split(c.path)
		if t.nodes[parent] == nil {
			return fmt.Errorf("create %q: no parent", c.path)
		}
		if c.owner != 0 && c.owner != ContainerOwner && t.sessions[c.owner] == nil {
			return fmt.Errorf("create %q: its session 0x%x is not open", c.path, c.owner)
		}
	case jute.OpDelete:
		if n == nil || len(n.children) > 0 || special(c.path) {
			return fmt.Errorf("delete %q: absent or not empty", c.path)
		}
	case jute.OpSetData, jute.OpSetACL:
		if n == nil {
			return fmt.Errorf("change %q: absent", c.path)
		}
	default:
		return fmt.Errorf("change of %q has unknown kind %d", c.path, c.op)
	}
	return nil
}
