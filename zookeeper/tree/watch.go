// SPDX-License-Identifier: Apache-2.0

// Watches: who wants to know what, and what fires when.

package tree

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gust-stream/gust/zookeeper/jute"
)

// Bounds on watches; the original has none. A watch counts as its path and watchCost bytes.
const (
	// MaxWatches is how many (path, table) pairs one client may watch.
	MaxWatches = 1 << 18
	// maxWatchBytes bounds the watches of one client, maxAllWatchBytes those of all clients together. What a client
	// has below freeWatchBytes is granted whatever others hold.
	maxWatchBytes    = 64 << 20
	maxAllWatchBytes = 512 << 20
	freeWatchBytes   = 64 << 10
	watchCost        = 200

	// maxEventBytes bounds what one change may report, each event counted as its path and eventCost bytes: a multi can
	// change a path thousands of times that thousands of clients watch.
	maxEventBytes = 64 << 20
	eventCost     = 64
)

// Client is one connection as the tree sees it. Watches belong to the connection,
// not to the session: they go when Forget is called, and clients set them again.
type Client struct {
	ID      uint64 // orders events for several clients
	Session int64
	Auth    []jute.ID // proved identities, the address among them

	watched    [2]map[string]struct{} // paths in the data and child tables
	watchBytes int                    // cost of both
}

// Event is a watch that fired for one client.
type Event struct {
	Client *Client
	Type   jute.EventType
	Path   string
	Zxid   int64 // of the change; -1 if it happened before the client reconnected
}

type mode uint8

const (
	once mode = 1 << iota
	persistent
	recursive
)

type watchTable struct {
	paths     map[string]map[*Client]mode
	recursive int // how many watches look below their path; none: no need to climb
}

func newWatchTable() watchTable { return watchTable{paths: map[string]map[*Client]mode{}} }

const (
	dataTable = iota
	childTable
)

func (t *Tree) table(i int) *watchTable {
	if i == dataTable {
		return &t.data
	}
	return &t.child
}

// watch adds a watch; false means that the client has too many.
func (t *Tree) watch(table int, path string, c *Client, m mode) bool {
	if _, known := c.watched[table][path]; !known {
		cost := len(path) + watchCost
		own := c.watchBytes + cost
		if len(c.watched[0])+len(c.watched[1]) >= MaxWatches || own > maxWatchBytes ||
			own > freeWatchBytes && t.watchBytes+cost > maxAllWatchBytes {
			return false
		}
		c.watchBytes = own
		t.watchBytes += cost
		if c.watched[table] == nil {
			c.watched[table] = map[string]struct{}{}
		}
		c.watched[table][path] = struct{}{}
	}
	w := t.table(table)
	clients := w.paths[path]
	if clients == nil {
		clients = map[*Client]mode{}
		w.paths[path] = clients
	}
	w.set(clients, c, clients[c]|m)
	return true
}

// set changes a client's mode on a path and keeps the count of recursive ones.
func (w *watchTable) set(clients map[*Client]mode, c *Client, m mode) {
	was := clients[c] & recursive
	if m == 0 {
		delete(clients, c)
	} else {
		clients[c] = m
	}
	switch now := m & recursive; {
	case now > was:
		w.recursive++
	case now < was:
		w.recursive--
	}
}

// unwatch takes modes away and tells whether any was there.
func (t *Tree) unwatch(table int, path string, c *Client, m mode) bool {
	w := t.table(table)
	clients := w.paths[path]
	old := clients[c]
	if old&m == 0 {
		return false
	}
	w.set(clients, c, old&^m)
	if old&^m == 0 {
		delete(c.watched[table], path)
		c.watchBytes -= len(path) + watchCost
		t.watchBytes -= len(path) + watchCost
		if len(clients) == 0 {
			delete(w.paths, path)
		}
	}
	return true
}

// Forget drops all watches of a connection that is gone.
func (t *Tree) Forget(c *Client) {
	for table := range c.watched {
		for path := range c.watched[table] {
			t.unwatch(table, path, c, once|persistent|recursive)
		}
	}
}

// AddWatch sets a persistent watch. The path need not exist.
func (t *Tree) AddWatch(c *Client, path string, m int32) jute.Code {
	var ok bool
	switch m {
	case jute.AddWatchPersistent:
		ok = t.watch(dataTable, path, c, persistent) && t.watch(childTable, path, c, persistent)
	case jute.AddWatchPersistentRecursive:
		ok = t.watch(dataTable, path, c, recursive)
	default:
		return jute.MarshallingError
	}
	if !ok {
		return jute.ThrottledOp
	}
	return jute.OK
}

// wanted maps a watch type to the modes it means in either table.
func wanted(typ jute.WatchType) (data, child mode, ok bool) {
	switch typ {
	case jute.WatchChildren:
		return 0, once, true
	case jute.WatchData:
		return once, 0, true
	case jute.WatchPersistent:
		return persistent, persistent, true
	case jute.WatchPersistentRecursive:
		return recursive, 0, true
	case jute.WatchAny:
		return once | persistent | recursive, once | persistent | recursive, true
	}
	return 0, 0, false
}

// RemoveWatches takes watches of a type off a path.
func (t *Tree) RemoveWatches(c *Client, path string, typ jute.WatchType) jute.Code {
	data, child, ok := wanted(typ)
	if !ok {
		return jute.MarshallingError
	}
	inData, inChild := t.unwatch(dataTable, path, c, data), t.unwatch(childTable, path, c, child)
	if !inData && !inChild {
		return jute.NoWatcher
	}
	return jute.OK
}

// CheckWatches tells whether RemoveWatches would find something.
func (t *Tree) CheckWatches(c *Client, path string, typ jute.WatchType) jute.Code {
	data, child, ok := wanted(typ)
	if !ok {
		return jute.MarshallingError
	}
	if t.data.paths[path][c]&data == 0 && t.child.paths[path][c]&child == 0 {
		return jute.NoWatcher
	}
	return jute.OK
}

// SetWatches sets watches again after a reconnect and reports at once what changed
// since the client's last zxid.
func (t *Tree) SetWatches(c *Client, w jute.Watches) jute.Code {
	ok := true
	add := func(table int, path string, m mode) { ok = t.watch(table, path, c, m) && ok }
	report := func(kind jute.EventType, path string) {
		t.report(Event{Client: c, Type: kind, Path: path, Zxid: -1})
	}
	for _, path := range w.Data {
		switch n := t.lookup(path); {
		case n == nil:
			report(jute.EventDeleted, path)
		case n.mzxid > w.Zxid:
			report(jute.EventDataChanged, path)
		default:
			add(dataTable, path, once)
		}
	}
	for _, path := range w.Exist {
		if t.lookup(path) != nil {
			report(jute.EventCreated, path)
		} else {
			add(dataTable, path, once)
		}
	}
	for _, path := range w.Child {
		switch n := t.lookup(path); {
		case n == nil:
			report(jute.EventDeleted, path)
		case n.pzxid > w.Zxid:
			report(jute.EventChildrenChanged, path)
		default:
			add(childTable, path, once)
		}
	}
	for _, path := range w.Persistent {
		add(childTable, path, persistent)
		add(dataTable, path, persistent)
	}
	for _, path := range w.PersistentDeep {
		add(dataTable, path, recursive)
	}
	if !ok {
		return jute.ThrottledOp
	}
	return jute.OK
}

// TakeEvents hands out what fired since the last call. The slice is valid until
// the next call into the tree.
func (t *Tree) TakeEvents() []Event {
	ev := t.events
	t.events, t.eventBytes = t.events[:0], 0
	if cap(ev) > keepEvents {
		t.events = nil
	}
	return ev
}

// keepEvents is how many events the list keeps room for between calls.
const keepEvents = 4096

// TakeOverrun hands out the clients that missed events since the last call because there were too many. Their connections
// must end: a client that comes back says what it watched and what it has seen last.
func (t *Tree) TakeOverrun() []*Client {
	clients := slices.SortedFunc(maps.Keys(t.overrun), byID)
	t.overrun = nil
	return clients
}

// report adds an event of the last change.
func (t *Tree) report(ev Event) {
	cost := len(ev.Path) + eventCost
	if t.eventBytes+cost > maxEventBytes {
		if t.overrun == nil {
			t.overrun = map[*Client]struct{}{}
		}
		t.overrun[ev.Client] = struct{}{}
		return
	}
	t.eventBytes += cost
	t.events = append(t.events, ev)
}

// trigger is a change that watches may wait for; acl decides who may hear of it.
type trigger struct {
	kind jute.EventType
	path string
	acl  []jute.ACL
}

// fire turns the triggers of one committed change into events.
func (t *Tree) fire() {
	for _, tr := range t.triggers {
		switch tr.kind {
		case jute.EventChildrenChanged:
			t.fireTable(&t.child, childTable, tr, nil)
		case jute.EventDeleted:
			told := t.fireTable(&t.data, dataTable, tr, nil)
			t.fireTable(&t.child, childTable, tr, told)
		default:
			t.fireTable(&t.data, dataTable, tr, nil)
		}
	}
	clear(t.triggers)
	t.triggers = t.triggers[:0]
}

func byID(a, b *Client) int { return cmp.Compare(a.ID, b.ID) }

// fireTable tells the watchers of one table, except those already told (in order of
// their IDs), and returns them in that order.
func (t *Tree) fireTable(w *watchTable, table int, tr trigger, told []*Client) []*Client {
	var hit []*Client
	for c, m := range w.paths[tr.path] {
		hit = append(hit, c)
		if m&once != 0 {
			t.unwatch(table, tr.path, c, once)
		}
	}
	if w.recursive > 0 {
		for path := tr.path; path != "/"; {
			path, _ = split(path)
			for c, m := range w.paths[path] {
				if m&recursive != 0 {
					hit = append(hit, c)
				}
			}
		}
	}
	slices.SortFunc(hit, byID)
	hit = slices.Compact(hit)
	for _, c := range hit {
		if _, done := slices.BinarySearchFunc(told, c, byID); !done && allowed(tr.acl, jute.PermRead, c.Auth) {
			t.report(Event{Client: c, Type: tr.kind, Path: tr.path, Zxid: t.zxid})
		}
	}
	return hit
}
