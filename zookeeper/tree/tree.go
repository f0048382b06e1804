// SPDX-License-Identifier: Apache-2.0

// The Tree itself: znodes, their links, and the primitive changes.

package tree

import (
	"slices"
	"strings"

	"github.com/gust-stream/gust/zookeeper/jute"
)

// ContainerOwner marks a container znode where others have the session that owns them.
const ContainerOwner int64 = -1 << 63

// node is one znode. Data is never changed in place: answers and snapshots may
// still hold it.
type node struct {
	path       string
	data       []byte
	acl        *aclEntry
	children   map[string]*node // by last path element; nil while there are none
	prev, next *node            // all znodes, in order of creation, for snapshots

	czxid, mzxid, pzxid         int64
	ctime, mtime                int64
	version, cversion, aversion int32 // cversion counts creations only, as sequence numbers do
	snapGen                     uint32
	owner                       int64
}

func (n *node) stat() jute.Stat {
	kids := int32(len(n.children))
	owner := n.owner
	if owner == ContainerOwner {
		owner = 0 // clients are not told
	}
	return jute.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version,
		// Clients count deletions of children as changes too. The number of those is
		// creations minus what is left.
		Cversion: n.cversion*2 - kids,
		Aversion: n.aversion, EphemeralOwner: owner,
		DataLength: int32(len(n.data)), NumChildren: kids, Pzxid: n.pzxid,
	}
}

func (n *node) ephemeral() bool { return n.owner != 0 && n.owner != ContainerOwner }

// session is a client's session; ephemerals are its znodes.
type session struct {
	timeout    int32
	ephemerals map[string]struct{}
}

// Tree is the whole state. It is not safe for concurrent use.
type Tree struct {
	nodes       map[string]*node
	first, last *node
	containers  map[string]struct{}
	sessions    map[int64]*session
	acls        aclTable
	zxid        int64

	data, child watchTable
	watchBytes  int // cost of all watches
	triggers    []trigger
	events      []Event
	eventBytes  int                  // cost of events
	overrun     map[*Client]struct{} // who missed events for which there was no room
	undo        []undo
	recordUndo  bool

	snap snapshot
}

// New makes the state of a fresh ZooKeeper: the root and /zookeeper with its
// config (empty: there is no ensemble to describe) and quota.
func New() *Tree {
	t := &Tree{
		nodes:      map[string]*node{},
		containers: map[string]struct{}{},
		sessions:   map[int64]*session{},
		acls:       newACLTable(),
		data:       newWatchTable(),
		child:      newWatchTable(),
	}
	open := []jute.ACL{{Perms: jute.PermAll, ID: anyone()}}
	readable := []jute.ACL{{Perms: jute.PermRead, ID: anyone()}}
	for _, path := range []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
		n := &node{path: path, data: []byte{}, acl: t.acls.intern(open)}
		if path == "/zookeeper/config" {
			t.acls.release(n.acl)
			n.acl, n.aversion = t.acls.intern(readable), -1
		}
		t.link(n)
	}
	return t
}

// Zxid is the number of the last change.
func (t *Tree) Zxid() int64 { return t.zxid }

// Len is the number of znodes, the root and ZooKeeper's own included.
func (t *Tree) Len() int { return len(t.nodes) }

// split cuts a path into its parent and last element. Callers know that path has
// a slash.
func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	if i == 0 {
		return "/", path[1:]
	}
	return path[:i], path[i+1:]
}

// lookup finds a znode; the empty path is the root, as the original has it.
func (t *Tree) lookup(path string) *node {
	if path == "" {
		path = "/"
	}
	return t.nodes[path]
}

// link puts n into the maps and lists, and into its parent if that is there.
func (t *Tree) link(n *node) {
	t.nodes[n.path] = n
	n.prev, n.next = t.last, nil
	if t.last != nil {
		t.last.next = n
	} else {
		t.first = n
	}
	t.last = n
	if n.path != "/" {
		parent, name := split(n.path)
		if p := t.nodes[parent]; p != nil {
			p.addChild(name, n)
		}
	}
	switch {
	case n.owner == ContainerOwner:
		t.containers[n.path] = struct{}{}
	case n.owner != 0:
		if s := t.sessions[n.owner]; s != nil {
			if s.ephemerals == nil {
				s.ephemerals = map[string]struct{}{}
			}
			s.ephemerals[n.path] = struct{}{}
		}
	}
}

func (n *node) addChild(name string, c *node) {
	if n.children == nil {
		n.children = map[string]*node{}
	}
	n.children[name] = c
}

// unlink is the reverse of link.
func (t *Tree) unlink(n *node) {
	delete(t.nodes, n.path)
	t.snap.leaving(n)
	if n.prev != nil {
		n.prev.next = n.next
	} else {
		t.first = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	} else {
		t.last = n.prev
	}
	n.prev, n.next = nil, nil
	parent, name := split(n.path)
	if p := t.nodes[parent]; p != nil {
		delete(p.children, name)
		if len(p.children) == 0 {
			p.children = nil
		}
	}
	switch {
	case n.owner == ContainerOwner:
		delete(t.containers, n.path)
	case n.owner != 0:
		if s := t.sessions[n.owner]; s != nil {
			delete(s.ephemerals, n.path)
			if len(s.ephemerals) == 0 {
				s.ephemerals = nil
			}
		}
	}
}

// names lists children in order, so that equal trees give equal answers.
func (n *node) names() []string {
	names := make([]string, 0, len(n.children))
	for name := range n.children {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// create, remove, setData and setACL are the four primitive changes. They trust
// their caller: live requests are checked first, replayed ones were.

func (t *Tree) create(path string, data []byte, acl []jute.ACL, owner, zxid, now int64) *node {
	parentPath, _ := split(path)
	p := t.nodes[parentPath]
	t.touch(p)
	p.cversion++
	p.pzxid = zxid
	n := &node{
		path: path, data: data, acl: t.acls.intern(acl), owner: owner,
		czxid: zxid, mzxid: zxid, pzxid: zxid, ctime: now, mtime: now,
		snapGen: t.snap.gen, // born after a running snapshot began: not part of it
	}
	t.link(n)
	if t.recordUndo {
		t.undo = append(t.undo, undo{created: n})
	}
	t.triggers = append(t.triggers,
		trigger{kind: jute.EventCreated, path: path, acl: n.acl.list},
		trigger{kind: jute.EventChildrenChanged, path: parentPath, acl: p.acl.list})
	return n
}

func (t *Tree) remove(n *node, zxid int64) {
	parentPath, _ := split(n.path)
	p := t.nodes[parentPath]
	t.touch(p)
	t.snap.save(n)
	p.pzxid = zxid
	t.unlink(n)
	if t.recordUndo {
		t.undo = append(t.undo, undo{removed: n})
	} else {
		t.acls.release(n.acl)
	}
	t.triggers = append(t.triggers,
		trigger{kind: jute.EventDeleted, path: n.path, acl: n.acl.list},
		trigger{kind: jute.EventChildrenChanged, path: parentPath, acl: p.acl.list})
}

func (t *Tree) setData(n *node, data []byte, version int32, zxid, now int64) {
	t.touch(n)
	n.data, n.version, n.mzxid, n.mtime = data, version, zxid, now
	t.triggers = append(t.triggers, trigger{kind: jute.EventDataChanged, path: n.path, acl: n.acl.list})
}

func (t *Tree) setACL(n *node, acl []jute.ACL, version int32) {
	t.touch(n)
	old := n.acl
	n.acl, n.aversion = t.acls.intern(acl), version
	t.acls.release(old) // setACL cannot be part of a multi, so nothing undoes this
}

// touch is called before a znode's own fields change: a running snapshot takes
// its old state first, and a multi remembers it.
func (t *Tree) touch(n *node) {
	t.snap.save(n)
	if t.recordUndo {
		t.undo = append(t.undo, undo{changed: n, before: *n})
	}
}

// undo is one primitive change of a multi and how to take it back.
type undo struct {
	created, removed, changed *node
	before                    node
}

// rollback takes back all primitive changes since recordUndo was set.
func (t *Tree) rollback() {
	for i := len(t.undo) - 1; i >= 0; i-- {
		u := &t.undo[i]
		switch {
		case u.created != nil:
			t.unlink(u.created)
			t.acls.release(u.created.acl)
		case u.removed != nil:
			t.link(u.removed)
		default:
			n := u.changed
			n.data, n.version, n.mzxid, n.mtime = u.before.data, u.before.version, u.before.mzxid, u.before.mtime
			n.cversion, n.pzxid = u.before.cversion, u.before.pzxid
		}
	}
	t.endUndo()
	t.triggers = t.triggers[:0]
}

// commitUndo forgets how to take changes back.
func (t *Tree) commitUndo() {
	for i := range t.undo {
		if n := t.undo[i].removed; n != nil {
			t.acls.release(n.acl)
		}
	}
	t.endUndo()
}

func (t *Tree) endUndo() {
	clear(t.undo)
	t.undo, t.recordUndo = t.undo[:0], false
}
