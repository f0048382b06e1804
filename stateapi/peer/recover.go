// SPDX-License-Identifier: Apache-2.0

// This file brings the state of a lost owner here, from all who have copies of its shards at once.

package peer

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/replica"
	"github.com/gust-stream/gust/stateapi/shard"
)

// recovery is a state on its way here.
type recovery struct {
	task  *task
	epoch uint64
	store *shard.Adopting

	mu      sync.Mutex // guards all below
	left    [][]replica.Peer
	found   []replica.Copy
	pending [][]byte
	bytes   int64
}

// recover brings the state here and tells Nimbus.
func (t *task) recover(ctx context.Context, c replica.Config) error {
	select {
	case <-t.peers.Store.Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	began := time.Now()
	store, err := t.peers.Store.BeginAdoption(t.def)
	if err != nil {
		return err
	}
	defer store.Cancel()
	shards := int(t.def.Shards)
	r := &recovery{task: t, epoch: c.Epoch, store: store, left: make([][]replica.Peer, shards), found: make([]replica.Copy, shards), pending: make([][]byte, shards)}
	for i := range r.left {
		r.left[i] = slices.Clone(of(c.Sources, i))
	}
	if err := r.fetch(ctx); err != nil {
		return err
	}
	fetched := time.Now()
	if err := r.finish(ctx); err != nil {
		return err
	}
	t.peers.log.Info("state has come from its copies", zap.Any("state", t.def.Name), zap.Int64("bytes", r.bytes), zap.Duration("fetched_in", fetched.Sub(began)),
		zap.Duration("took", time.Since(began)), zap.Uint64("epoch", c.Epoch))
	if err := t.peers.Control.Report(ctx, Report{Def: t.def, From: t.peers.Self, Epoch: c.Epoch, HasState: true}); err != nil {
		return err
	}
	return t.await(ctx, c)
}

// await waits until Nimbus's word is another than c.
func (t *task) await(ctx context.Context, c replica.Config) error {
	limit := time.After(callTimeout)
	for {
		t.mu.Lock()
		changed, same := t.changed, t.config.Epoch == c.Epoch && t.config.Opened == c.Opened
		t.mu.Unlock()
		if !same {
			return nil
		}
		select {
		case <-changed:
		case <-limit:
			return fmt.Errorf("nimbus has not noted that the state is here: %w", stateapi.ErrNotReady)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fetch gets one copy of each shard, from as many peers at once as there are; where one fails, from the next.
func (r *recovery) fetch(ctx context.Context) error {
	missing := make([]int, len(r.left))
	for i := range missing {
		missing[i] = i
	}
	var faults error
	for len(missing) > 0 {
		plan, err := r.plan(missing)
		if err != nil {
			return errors.Join(err, faults)
		}
		group, gctx := errgroup.WithContext(ctx)
		for p, shards := range plan {
			group.Go(func() error {
				err := r.from(gctx, p, shards)
				if err != nil && !errors.Is(err, errNewer) {
					r.mu.Lock()
					faults = errors.Join(faults, fmt.Errorf("peer %s: %w", p, err))
					r.mu.Unlock()
					return nil
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		missing = slices.DeleteFunc(missing, func(i int) bool { return r.found[i].Complete })
	}
	return ctx.Err()
}

// plan names a source for each missing shard, so that each has about as many to send.
func (r *recovery) plan(missing []int) (map[replica.Peer][]int, error) {
	plan := map[replica.Peer][]int{}
	for _, i := range missing {
		if len(r.left[i]) == 0 {
			return nil, fmt.Errorf("no peer has shard %d whole: %w", i, stateapi.ErrNotReady)
		}
		best := slices.MinFunc(r.left[i], func(a, b replica.Peer) int { return len(plan[a]) - len(plan[b]) })
		plan[best] = append(plan[best], i)
		r.left[i] = slices.DeleteFunc(r.left[i], func(p replica.Peer) bool { return p == best })
	}
	return plan, nil
}

// errNewer means that a copy has seen a newer epoch: another machine is to have the state.
var errNewer = errors.New("a newer epoch has begun")

// from fetches shards from one peer.
func (r *recovery) from(ctx context.Context, p replica.Peer, shards []int) error {
	remote := r.task.peers.remote(p)
	_, bulk := remote.links()
	err := r.stream(ctx, bulk, shards)
	if err != nil && !errors.Is(err, errRefused) && !errors.Is(err, errNewer) {
		remote.reset(bulk)
	}
	return err
}

func (r *recovery) stream(ctx context.Context, bulk *link, shards []int) (err error) {
	h := head{Kind: kindFetch, Task: r.task.def}
	for _, i := range shards {
		h.Items = append(h.Items, item{Shard: i, Epoch: r.epoch})
	}
	x, err := bulk.begin(ctx, h)
	if err != nil {
		return err
	}
	defer x.end()
	copies := map[int]replica.Copy{}
	in := &incomingShard{recovery: r, shard: -1}
	defer func() {
		if err != nil && in.shard >= 0 {
			err = errors.Join(err, r.store.Clear(in.shard))
		}
	}()
	for {
		answer, body, err := r.next(ctx, x)
		if err != nil {
			return err
		}
		for _, it := range answer.Items {
			if it.What != "" {
				if err := in.frame(it, body, copies); err != nil {
					return err
				}
				continue
			}
			if it.Verdict != replica.Taken {
				return errNewer
			}
			copies[it.Shard] = it.Copy
		}
		if answer.Last {
			break
		}
	}
	in.end(copies)
	for i, c := range copies { // those without a key have no frames
		if c.Complete {
			r.have(i, c)
		}
	}
	return nil
}

func (r *recovery) next(ctx context.Context, x *exchange) (head, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pieceTimeout)
	defer cancel()
	return x.next(ctx)
}

func (r *recovery) have(shard int, c replica.Copy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found[shard] = c
}

// incomingShard is the shard whose frames come in now.
type incomingShard struct {
	recovery *recovery
	shard    int
	rest     []byte // of an image whose end has not come
}

// frame takes a piece of a shard. Frames of one shard come together: another one's end it.
func (in *incomingShard) frame(it item, body []byte, copies map[int]replica.Copy) error {
	if _, ok := copies[it.Shard]; !ok {
		return fmt.Errorf("a piece of shard %d, which was not asked for: %w", it.Shard, stateapi.ErrCorrupt)
	}
	if it.Shard != in.shard {
		in.end(copies)
		in.shard = it.Shard
	}
	r := in.recovery
	r.mu.Lock()
	r.bytes += int64(len(body))
	r.mu.Unlock()
	switch {
	case it.What == whatImages:
		return in.images(body)
	case len(in.rest) > 0:
		return fmt.Errorf("half an image of shard %d: %w", it.Shard, stateapi.ErrCorrupt)
	case it.What == whatPending:
		r.mu.Lock()
		r.pending[it.Shard] = body
		r.mu.Unlock()
		return nil
	case it.What == whatPart && isClear(body):
		return r.store.Clear(it.Shard)
	case it.What == whatPart:
		return r.store.Apply(body)
	}
	return fmt.Errorf("a piece %q: %w", it.What, stateapi.ErrCorrupt)
}

// images installs every image that is whole.
func (in *incomingShard) images(piece []byte) error {
	if len(in.rest) > 0 {
		in.rest = append(in.rest, piece...)
		piece = in.rest
	}
	for len(piece) >= 8 {
		n := binary.LittleEndian.Uint64(piece)
		if n > uint64(len(piece)-8) {
			break
		}
		if err := in.recovery.store.Install(in.shard, piece[8:8+n]); err != nil {
			return fmt.Errorf("shard %d: %w", in.shard, err)
		}
		piece = piece[8+n:]
	}
	in.rest = append([]byte(nil), piece...)
	return nil
}

// end takes note that the shard is whole.
func (in *incomingShard) end(copies map[int]replica.Copy) {
	if in.shard >= 0 && len(in.rest) == 0 {
		in.recovery.have(in.shard, copies[in.shard])
		delete(copies, in.shard)
	}
	in.shard = -1
}

// finish decides what becomes of pending parts, and makes the state durable.
func (r *recovery) finish(ctx context.Context) error {
	d, err := replica.Resolve(r.found)
	if err != nil {
		return err
	}
	f := shard.Finish{Commit: r.epoch << 32, Prepared: d.Prepared.Number != 0, TxID: d.Prepared.TxID}
	var prepared stateapi.Batch
	var newest uint64
	for i, step := range d.Steps {
		if p := d.At[i]; p.Committed >= newest && p.CommittedTx != 0 {
			newest, f.CommittedTx, f.HasCommitted = p.Committed, p.CommittedTx, true
		}
		body := r.pending[i]
		switch {
		case body == nil || step == replica.Forget:
		case step == replica.Apply && isClear(body):
			err = r.store.Clear(i)
		case step == replica.Apply:
			err = r.store.Apply(body)
		case d.At[i].Pending.Number != 0:
			err = stateapi.Operations(body, func(op byte, key, value []byte) error {
				if op == stateapi.OpDelete {
					prepared.Delete(key)
				} else {
					prepared.Put(key, value)
				}
				return nil
			})
		}
		if err != nil {
			return fmt.Errorf("pending part of shard %d: %w", i, err)
		}
	}
	if f.Prepared {
		f.Pending = prepared.Bytes()
	}
	if f.Mark, err = json.Marshal(mark{Number: replica.FirstNumber(r.epoch), Epoch: r.epoch, At: d.At}); err != nil {
		return err
	}
	return r.store.Finish(ctx, f)
}
