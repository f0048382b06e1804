// SPDX-License-Identifier: Apache-2.0

// Snapshots: the tree as it was at one moment, read bit by bit while changes go on.
// A change takes the old state of what it touches into the snapshot first.

package tree

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/gust-stream/gust/zookeeper/jute"
)

// Records of a snapshot, format version 1: u8 kind and fields.
const (
	recSession byte = 1 // i64 id, i32 timeout
	recNode    byte = 2 // path, data, acl, the nine numbers of its stat
	recEnd     byte = 3 // i64 zxid, i64 number of records before
)

// snapshot is the running one. gen counts snapshots; a znode whose snapGen equals
// it is already written, or was born later.
type snapshot struct {
	running bool
	gen     uint32
	zxid    int64
	cursor  *node
	records int64
	out     []byte // what is due to be written
}

// BeginSnapshot starts a snapshot of the tree as it is now and returns its zxid.
// Until NextSnapshot is done each change costs a little more.
func (t *Tree) BeginSnapshot() int64 {
	t.snap = snapshot{running: true, gen: t.snap.gen + 1, zxid: t.zxid, cursor: t.first}
	for _, s := range t.Sessions() {
		t.snap.out = append(t.snap.out, recSession)
		t.snap.out = jute.AppendLong(t.snap.out, s.ID)
		t.snap.out = jute.AppendInt(t.snap.out, s.Timeout)
		t.snap.records++
	}
	return t.zxid
}

// NextSnapshot returns the next records, about size bytes of them, in a slice that
// is the caller's. With done the snapshot is complete.
func (t *Tree) NextSnapshot(size int) (records []byte, done bool) {
	s := &t.snap
	for s.cursor != nil && len(s.out) < size {
		n := s.cursor
		s.save(n)
		s.cursor = n.next
	}
	if s.cursor == nil {
		s.running = false
		s.out = append(s.out, recEnd)
		s.out = jute.AppendLong(s.out, s.zxid)
		s.out = jute.AppendLong(s.out, s.records)
	}
	records, s.out = s.out, nil
	return records, !s.running
}

// AbortSnapshot forgets the running snapshot.
func (t *Tree) AbortSnapshot() { t.snap = snapshot{gen: t.snap.gen} }

// save writes a znode's present state, once per snapshot.
func (s *snapshot) save(n *node) {
	if !s.running || n.snapGen == s.gen {
		return
	}
	n.snapGen = s.gen
	b := s.out
	b = append(b, recNode)
	b = jute.AppendString(b, n.path)
	b = jute.AppendBuffer(b, n.data)
	b = jute.AppendACLs(b, n.acl.list)
	for _, v := range [...]int64{n.czxid, n.mzxid, n.pzxid, n.ctime, n.mtime, n.owner} {
		b = jute.AppendLong(b, v)
	}
	for _, v := range [...]int32{n.version, n.cversion, n.aversion} {
		b = jute.AppendInt(b, v)
	}
	s.out = b
	s.records++
}

// leaving moves the cursor off a znode that is about to be unlinked.
func (s *snapshot) leaving(n *node) {
	if s.cursor == n {
		s.cursor = n.next
	}
}

// Loader builds a tree from the records of a snapshot.
type Loader struct {
	t       *Tree
	records int64
	done    bool
}

// NewLoader starts with nothing, not even a root.
func NewLoader() *Loader {
	t := New()
	t.nodes, t.first, t.last = map[string]*node{}, nil, nil
	t.acls = newACLTable()
	return &Loader{t: t}
}

// Add takes the next records as NextSnapshot gave them.
func (l *Loader) Add(records []byte) error {
	d := jute.NewDecoder(records)
	for d.Remaining() > 0 {
		if l.done {
			return errors.New("records behind the end of the snapshot")
		}
		if err := l.add(d); err != nil {
			return fmt.Errorf("snapshot record %d: %w", l.records, err)
		}
	}
	return nil
}

func (l *Loader) add(d *jute.Decoder) error {
	switch kind := d.Byte(); kind {
	case recSession:
		id, timeout := d.Long(), d.Int()
		l.t.sessions[id] = &session{timeout: timeout}
	case recNode:
		n := &node{path: d.String(), data: bytes.Clone(d.Buffer())}
		acl := d.ACLs()
		for _, v := range [...]*int64{&n.czxid, &n.mzxid, &n.pzxid, &n.ctime, &n.mtime, &n.owner} {
			*v = d.Long()
		}
		for _, v := range [...]*int32{&n.version, &n.cversion, &n.aversion} {
			*v = d.Int()
		}
		if d.Err() != nil {
			return d.Err()
		}
		if !validPath(n.path) || l.t.nodes[n.path] != nil {
			return fmt.Errorf("znode %q: path is bad or there twice", n.path)
		}
		n.acl = l.t.acls.intern(acl)
		l.t.link(n)
	case recEnd:
		zxid, records := d.Long(), d.Long()
		if d.Err() == nil && records != l.records {
			return fmt.Errorf("%d records announced, %d read", records, l.records)
		}
		l.t.zxid, l.done = zxid, true
		return d.Err()
	default:
		return fmt.Errorf("unknown kind %d", kind)
	}
	l.records++
	return d.Err()
}

// Tree gives the loaded tree once all records are there. Records come in any
// order, so parents are found only now.
func (l *Loader) Tree() (*Tree, error) {
	if !l.done {
		return nil, errors.New("snapshot has no end")
	}
	for n := l.t.first; n != nil; n = n.next {
		if n.path == "/" {
			continue
		}
		parent, name := split(n.path)
		p := l.t.nodes[parent]
		if p == nil {
			return nil, fmt.Errorf("snapshot: znode %q has no parent", n.path)
		}
		p.addChild(name, n)
	}
	for _, path := range []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
		if l.t.nodes[path] == nil {
			return nil, fmt.Errorf("snapshot: znode %q is missing", path)
		}
	}
	return l.t, nil
}
