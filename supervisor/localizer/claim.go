// SPDX-License-Identifier: Apache-2.0

package localizer

// This file counts who uses which blob. A claim is a Localize under way; it holds its blobs from the first moment, so that
// no cleanup takes one away between download and use.

import (
	"sync"

	"github.com/gust-stream/gust/localstate"
)

// claim is one Localize or Adopt under way.
type claim struct {
	l       *Localizer
	request Request
	id      hold
	holder  *holder

	mu       sync.Mutex
	versions map[*blob]int64 // what the topology's own blobs were when they were read; guarded by mu
}

func (l *Localizer) begin(req Request) *claim {
	return &claim{
		l: l, request: req, id: hold{req.TopologyID, req.Port},
		holder: &holder{request: req, blobs: map[*blob]bool{}}, versions: map[*blob]int64{},
	}
}

// read notes that the blob's content is about to be read.
func (c *claim) read(b *blob) {
	version, _ := b.place.version()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.versions[b] = version
}

// torn says whether a change was put in place while the claim read conf, code and jar, so that they may not fit together.
func (c *claim) torn() bool {
	for b, version := range c.versions {
		if now, ok := b.place.version(); !ok || now != version {
			return true
		}
	}
	return false
}

func (c *claim) topologyBlob(name string) *blob {
	place := newTopologyPlace(c.l.cfg, c.request.TopologyID, name)
	return c.take(c.request.TopologyID+"-"+name, place, true)
}

func (c *claim) userBlob(b userBlob) *blob {
	place := newUserPlace(c.l.cfg.Layout, c.request.Owner, b.key, b.unpack)
	place.limits = limits{bytes: c.l.cfg.MaxUnpackedBytes, entries: c.l.cfg.MaxUnpackedEntries}
	return c.take(b.key, place, b.restart)
}

// take finds or makes the blob at place and holds it.
func (c *claim) take(key string, place place, restart bool) *blob {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	b, ok := c.l.blobs[place.id()]
	if !ok {
		b = &blob{key: key, place: place, lock: make(chan struct{}, 1), holds: map[hold]int{}}
		c.l.blobs[place.id()] = b
	}
	if _, ok := c.holder.blobs[b]; !ok {
		b.holds[c.id]++
	}
	c.holder.blobs[b] = c.holder.blobs[b] || restart
	return b
}

// keep makes the claim the slot's holder. What the slot held before and needs no more is given up. The slot joins those
// whom a change already under way waits for; the answer says whom to tell of that.
func (c *claim) keep() []notice {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	before, ok := c.l.holds[c.id]
	c.l.holds[c.id] = c.holder
	if ok {
		for b := range before.blobs {
			c.l.drop(b, c.id)
		}
	}
	var notices []notice
	for b, restart := range c.holder.blobs {
		if u := b.update; restart && u != nil && len(u.waiting) > 0 && c.request.Changed != nil {
			notices = append(notices, c.l.askFor(b, u, c.id, c.request))
		}
	}
	return notices
}

// abandon gives up what the claim took; what the slot held before stays.
func (c *claim) abandon() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	for b := range c.holder.blobs {
		c.l.drop(b, c.id)
	}
}

// drop gives up one hold of b. The caller holds mu.
func (l *Localizer) drop(b *blob, id hold) {
	if b.holds[id]--; b.holds[id] > 0 {
		return
	}
	delete(b.holds, id)
	if b.update != nil {
		b.update.agree(id)
	}
	if len(b.holds) == 0 {
		delete(l.blobs, b.place.id())
	}
}

// held says whether anybody holds a blob at this place. The caller holds mu.
func (l *Localizer) held(id string) bool {
	_, ok := l.blobs[id]
	return ok
}

// topologyHeld says whether anybody holds a blob of the topology. The caller holds mu.
func (l *Localizer) topologyHeld(topologyID string) bool {
	for _, name := range []string{localstate.TopologyJar, localstate.TopologyCode, localstate.TopologyConf} {
		if l.held(newTopologyPlace(l.cfg, topologyID, name).id()) {
			return true
		}
	}
	return false
}
