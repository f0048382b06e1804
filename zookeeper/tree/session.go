// SPDX-License-Identifier: Apache-2.0

// Sessions: opened, closed, listed. When one expires is the server's decision.

package tree

import (
	"cmp"
	"slices"

	"github.com/gust-stream/gust/zookeeper/jute"
)

// Session is a live session; Timeout is in milliseconds.
type Session struct {
	ID      int64
	Timeout int32
}

// Sessions lists live sessions by id.
func (t *Tree) Sessions() []Session {
	out := make([]Session, 0, len(t.sessions))
	for id, s := range t.sessions {
		out = append(out, Session{ID: id, Timeout: s.timeout})
	}
	slices.SortFunc(out, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// HasSession tells whether a session is live.
func (t *Tree) HasSession(id int64) bool { return t.sessions[id] != nil }

// OpenSession starts a session and appends the change to log.
func (t *Tree) OpenSession(id int64, timeout int32, now int64, log []byte) []byte {
	zxid := t.zxid + 1
	log = appendTxn(log, txnOpen, zxid, now, id)
	log = jute.AppendInt(log, timeout)
	t.sessions[id] = &session{timeout: timeout}
	t.commit(zxid)
	return log
}

// CloseSession ends a session, deletes its ephemeral znodes and appends the change
// to log. An unknown session changes nothing.
func (t *Tree) CloseSession(id, now int64, log []byte) []byte {
	if t.sessions[id] == nil {
		return log
	}
	zxid := t.zxid + 1
	log = appendTxn(log, txnClose, zxid, now, id)
	t.closeSession(id, zxid)
	return log
}

func (t *Tree) closeSession(id, zxid int64) {
	s := t.sessions[id]
	paths := make([]string, 0, len(s.ephemerals))
	for path := range s.ephemerals {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		t.remove(t.nodes[path], zxid)
	}
	delete(t.sessions, id)
	t.commit(zxid)
}

// DeleteContainer deletes a container znode if it is still empty.
func (t *Tree) DeleteContainer(path string, now int64, log []byte) []byte {
	n := t.nodes[path]
	if n == nil || n.owner != ContainerOwner || len(n.children) > 0 {
		return log
	}
	zxid := t.zxid + 1
	log = appendTxn(log, txnChange, zxid, now, 0)
	log = append(appendChange(log, change{op: jute.OpDelete, path: path}), endChanges)
	t.remove(n, zxid)
	t.commit(zxid)
	return log
}

// SkipTo raises the zxid without a change and appends that to log. It is for a
// store that lost its newest changes: clients that saw them must not be refused
// for ever as coming from the future.
func (t *Tree) SkipTo(zxid, now int64, log []byte) []byte {
	if zxid <= t.zxid {
		return log
	}
	log = appendTxn(log, txnSkip, zxid, now, 0)
	t.commit(zxid)
	return log
}
