// SPDX-License-Identifier: Apache-2.0

package localizer

// This file finds new versions of blobs in use and puts them in place when the slots that use them allow it.

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

// Change tells a slot that a blob of its topology has a new version for which the worker must be stopped. The new content
// is downloaded already. The slot stops its worker, calls Agree, waits for Done, calls Localize again (conf and code may
// have changed) and starts a worker.
type Change struct {
	// TopologyID and Port are the slot's; Key and Version are the blob's.
	TopologyID string
	Port       int
	Key        string
	Version    int64

	l *Localizer
	u *update
}

// Agree says that the slot's worker is stopped. It may be called more than once and never blocks for long.
func (c *Change) Agree() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.u.agree(hold{c.TopologyID, c.Port})
}

// Done is closed when the new content is in place, or the change was given up; Err then says which.
func (c *Change) Done() <-chan struct{} { return c.u.done }

// Err says, after Done, why the change was given up; nil if it is in place. A change given up is offered again later.
func (c *Change) Err() error {
	select {
	case <-c.u.done:
		return c.u.err
	default:
		return nil
	}
}

// update is a staged version that waits for slots.
type update struct {
	staged *staged
	err    error         // set before done is closed
	done   chan struct{} // closed when all is over
	agreed chan struct{} // closed when waiting is empty

	waiting map[hold]bool // guarded by Localizer.mu
}

// agree takes a slot off the list. The caller holds Localizer.mu.
func (u *update) agree(id hold) {
	if !u.waiting[id] {
		return
	}
	delete(u.waiting, id)
	if len(u.waiting) == 0 {
		close(u.agreed)
	}
}

// check asks Nimbus for the version of every blob in use.
func (l *Localizer) check(ctx context.Context) {
	l.mu.Lock()
	var blobs []*blob
	for _, b := range l.blobs {
		if b.update == nil {
			b.holds[updating()]++ // so that it stays the one blob at its place
			blobs = append(blobs, b)
		}
	}
	l.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(l.cfg.Threads)
	for _, b := range blobs {
		group.Go(func() error {
			if err := l.checkBlob(ctx, b); err != nil && ctx.Err() == nil && !errors.Is(err, ErrNotFound) {
				l.log.Warn("blob update failed, it will be tried again", zap.String("key", b.key), zap.Error(err))
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.drop(b, updating())
			return nil
		})
	}
	_ = group.Wait() // the functions return nil
}

func (l *Localizer) checkBlob(ctx context.Context, b *blob) error {
	remote, err := l.nimbus.BlobVersion(ctx, b.key)
	if err != nil {
		return err
	}
	if err := b.acquire(ctx); err != nil {
		return err
	}
	defer b.release()
	local, ok := b.place.version()
	if !ok || local == remote {
		return nil // not there yet: a Localize is about to bring it
	}
	s, err := l.fetch(ctx, b)
	if err != nil {
		return err
	}
	u, notices := l.offer(b, s)
	if len(notices) == 0 {
		return l.commit(b, s)
	}
	l.log.Info("blob changed, asking slots to stop their workers", zap.String("key", b.key),
		zap.Int64("version", s.version), zap.Int("slots", len(notices)))
	l.updates.Go(func() error { l.finish(ctx, b, u); return nil })
	send(notices)
	return nil
}

// notice is a change and whom to tell.
type notice struct {
	changed func(*Change)
	change  *Change
}

func send(notices []notice) {
	for _, n := range notices {
		n.changed(n.change)
	}
}

// offer makes s the blob's update if slots must be asked, and says which.
func (l *Localizer) offer(b *blob, s *staged) (*update, []notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := &update{staged: s, done: make(chan struct{}), agreed: make(chan struct{}), waiting: map[hold]bool{}}
	var notices []notice
	for id := range b.holds {
		if h := l.holds[id]; h != nil && h.blobs[b] && h.request.Changed != nil {
			notices = append(notices, l.askFor(b, u, id, h.request))
		}
	}
	if len(notices) > 0 {
		b.update = u
		b.holds[updating()]++
	}
	return u, notices
}

// askFor puts a slot on the update's list. The caller holds mu and sends the notice when it no longer does.
func (l *Localizer) askFor(b *blob, u *update, id hold, request Request) notice {
	u.waiting[id] = true
	return notice{request.Changed, &Change{
		TopologyID: id.topologyID, Port: id.port, Key: b.key, Version: u.staged.version, l: l, u: u,
	}}
}

// finish waits until the slots agree, or long enough, and puts the update in place.
func (l *Localizer) finish(ctx context.Context, b *blob, u *update) {
	timer := time.NewTimer(l.cfg.AgreeWithin)
	defer timer.Stop()
	select {
	case <-u.agreed:
	case <-timer.C:
		l.log.Warn("not all slots agreed in time, blob is changed under running workers", zap.String("key", b.key))
	case <-ctx.Done():
		u.err = context.Cause(ctx)
	}
	if u.err == nil {
		u.err = b.acquire(ctx)
	}
	if u.err == nil {
		u.err = l.commitUpdate(b, u)
		b.release()
	}
	if u.err != nil {
		u.staged.discard()
		l.log.Warn("blob change given up", zap.String("key", b.key), zap.Error(u.err))
	}
	l.mu.Lock()
	b.update = nil
	l.drop(b, updating())
	l.mu.Unlock()
	close(u.done)
}

// commitUpdate passes over a version that a Localize has brought in the meantime.
func (l *Localizer) commitUpdate(b *blob, u *update) error {
	if local, ok := b.place.version(); ok && local == u.staged.version {
		u.staged.discard()
		return nil
	}
	return l.commit(b, u.staged)
}
