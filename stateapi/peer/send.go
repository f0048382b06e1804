// SPDX-License-Identifier: Apache-2.0

// This file sends an owner's records to the copies, and brings copies in step.

package peer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/stateapi/replica"
)

// members are the peers of a task's copies, in order. The caller holds mu.
func (t *task) members() []replica.Peer {
	all := map[replica.Peer]bool{}
	for _, lists := range [][][]replica.Peer{t.config.Copies, t.config.Joining, t.config.Learners} {
		for _, peers := range lists {
			for _, p := range peers {
				all[p] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// pump begins every request that is due. The caller holds mu.
func (t *task) pump() {
	if t.owner == nil {
		return
	}
	if ready := t.owner.Ready(); len(ready) > 0 {
		if t.inStep == nil {
			t.inStep = map[int][]replica.Peer{}
		}
		for shard, peers := range ready {
			t.inStep[shard] = append(t.inStep[shard], peers...)
		}
		t.notify()
	}
	for _, p := range t.members() {
		if t.busy[p] || t.pauses[p] {
			continue
		}
		syncs := slices.DeleteFunc(t.owner.Syncs(p), func(y replica.Sync) bool { return t.installs[target{p, y.Shard}] != nil })
		if len(syncs) > 0 {
			t.busy[p] = true
			owner := t.owner
			t.peers.spawn(func(ctx context.Context) { t.sync(ctx, owner, p, syncs) })
			continue
		}
		if !t.durable {
			continue
		}
		if sends := t.owner.Sends(p); len(sends) > 0 {
			t.busy[p] = true
			owner, parts := t.owner, t.parts[t.last.Number]
			t.peers.spawn(func(ctx context.Context) { t.send(ctx, owner, p, sends, parts) })
		}
	}
}

// sync brings shards of a peer in step, those that need it by an image.
func (t *task) sync(ctx context.Context, owner *replica.Owner, p replica.Peer, syncs []replica.Sync) {
	h := head{Kind: kindSync, Task: t.def}
	for _, y := range syncs {
		h.Items = append(h.Items, item{Shard: y.Shard, Epoch: y.Epoch, Position: y.Position, Current: y.Current})
	}
	answer, err := t.peers.remote(p).call(ctx, h)
	t.answered(ctx, owner, p, err, func() {
		for i, y := range syncs {
			switch verdictOf(answer, i, y.Shard) {
			case replica.Taken:
				owner.Synced(p, y.Shard, y.Epoch, y.Position)
			case replica.Refused:
				owner.Answered(p, y.Shard, y.Epoch, 0, replica.Refused)
			case replica.Gap:
				t.install(target{p, y.Shard})
			}
		}
	})
}

// send sends shares of the record under way.
func (t *task) send(ctx context.Context, owner *replica.Owner, p replica.Peer, sends []replica.Send, parts [][]byte) {
	h := head{Kind: kindAppend, Task: t.def, Record: sends[0].Record}
	var body [][]byte
	for _, s := range sends {
		it := item{Shard: s.Shard, Epoch: s.Epoch, Previous: s.Previous}
		if keeps(s.Record) {
			it.Size = len(parts[s.Shard])
			body = append(body, parts[s.Shard])
		}
		h.Items = append(h.Items, it)
	}
	answer, err := t.peers.remote(p).call(ctx, h, body...)
	t.answered(ctx, owner, p, err, func() {
		for i, s := range sends {
			if v := verdictOf(answer, i, s.Shard); v != 0 {
				owner.Answered(p, s.Shard, s.Epoch, s.Record.Number, v)
			}
		}
	})
}

// keeps says whether a record has keys with it.
func keeps(r replica.Record) bool { return r.Kind == replica.Prepare || r.Kind == replica.Write }

func verdictOf(answer head, i, shard int) replica.Verdict {
	if i >= len(answer.Items) || answer.Items[i].Shard != shard {
		return 0
	}
	return answer.Items[i].Verdict
}

// answered takes the end of a request to a peer, with what its answer means, unless there is another owner by now.
func (t *task) answered(ctx context.Context, owner *replica.Owner, p replica.Peer, err error, take func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return
	case t.owner != owner: // the answer is another's
	case err == nil:
		take()
	default:
		t.peers.log.Info("a copy is away", zap.Any("state", t.def.Name), zap.String("peer", string(p)), zap.Error(err))
		owner.Lost(p)
		t.pause(p)
	}
	delete(t.busy, p)
	t.pump()
	t.notify()
}

// pause leaves a peer alone for a moment. The caller holds mu.
func (t *task) pause(p replica.Peer) {
	if t.pauses == nil {
		t.pauses = map[replica.Peer]bool{}
	}
	t.pauses[p] = true
	t.peers.spawn(func(ctx context.Context) {
		_ = clock.Wait(ctx, retryPause)
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.pauses, p)
		t.pump()
	})
}

// install is a shard on its way to a peer: its images, then the records that were made meanwhile.
type install struct {
	cancel context.CancelFunc
	queue  []queued
	bytes  int
}

type queued struct {
	record   replica.Record
	previous uint64
	part     []byte
}

// queueMost bounds what may wait behind an image that is on its way.
const queueMost = 128 << 20

// add puts a record behind the images, if it touches the shard.
func (in *install) add(r replica.Record, previous uint64, part []byte, shard int) {
	if !r.Touches(shard) {
		return
	}
	if !keeps(r) {
		part = nil
	}
	in.queue = append(in.queue, queued{record: r, previous: previous, part: part})
	if in.bytes += len(part); in.bytes > queueMost {
		in.cancel()
	}
}

// install begins to send a shard to a peer. The caller holds mu.
func (t *task) install(at target) {
	if t.installs[at] != nil {
		return
	}
	in := &install{cancel: func() {}}
	t.installs[at] = in
	position := t.images[at.shard]
	var pending []byte
	if n := position.Pending.Number; n != 0 {
		if t.parts[n] == nil {
			t.peers.log.DPanic("a pending part is missing", zap.Any("state", t.def.Name))
		} else {
			pending = t.parts[n][at.shard]
		}
	}
	if t.durable && t.last.Number > position.Last {
		in.add(t.last, t.before[at.shard], t.parts[t.last.Number][at.shard], at.shard)
	}
	owner := t.owner
	t.peers.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		t.mu.Lock()
		in.cancel = cancel
		t.mu.Unlock()
		began := time.Now()
		err := t.transfer(ctx, owner, at, position, pending, in)
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.installs, at)
		if err != nil && t.owner == owner {
			t.peers.log.Info("a copy was not made", zap.Any("state", t.def.Name), zap.Int("shard", at.shard), zap.String("peer", string(at.peer)),
				zap.Duration("after", time.Since(began)), zap.Error(err))
			t.pause(at.peer)
		}
		t.pump()
		t.notify()
	})
}

// transfer sends images as of at least position, then all that was made since, until the copy is in step.
func (t *task) transfer(ctx context.Context, owner *replica.Owner, at target, position replica.Position, pending []byte, in *install) error {
	r := t.peers.remote(at.peer)
	_, bulk := r.links()
	err := t.sendImages(ctx, owner, bulk, at, position, pending)
	for err == nil {
		epoch, ok := t.epochOf(owner, at)
		if !ok {
			return errNotMember
		}
		t.mu.Lock()
		queue := in.queue
		in.queue, in.bytes = nil, 0
		position = owner.Position(at.shard)
		it := item{Shard: at.shard, Epoch: epoch, Position: position}
		if current := owner.Current(); t.durable && current.Touches(at.shard) {
			it.Current = current.Number
		}
		t.mu.Unlock()
		for _, q := range queue {
			h := head{Kind: kindAppend, Task: t.def, Record: q.record, Items: []item{{Shard: at.shard, Epoch: epoch, Previous: q.previous, Size: len(q.part)}}}
			if err = expect(ctx, bulk, h, q.part); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
		if err = expect(ctx, bulk, head{Kind: kindSync, Task: t.def, Items: []item{it}}); err != nil {
			break
		}
		t.mu.Lock()
		there := len(in.queue) == 0 && owner.Position(at.shard).Last == position.Last
		if there && t.owner == owner {
			owner.Synced(at.peer, at.shard, epoch, position)
			delete(t.installs, at)
		}
		t.mu.Unlock()
		if there {
			return nil
		}
	}
	if !errors.Is(err, errRefused) && !errors.Is(err, errVerdict) {
		r.reset(bulk)
	}
	return err
}

// epochOf is the epoch under which a peer is to have a copy of a shard; Nimbus may name others while an image is on its way.
func (t *task) epochOf(owner *replica.Owner, at target) (epoch uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	member := slices.Contains(slices.Concat(of(t.config.Copies, at.shard), of(t.config.Joining, at.shard), of(t.config.Learners, at.shard)), at.peer)
	return t.config.Epoch, member && t.owner == owner
}

var errNotMember = errors.New("nimbus has named other copies meanwhile")

var errVerdict = errors.New("the copy did not take it")

// expect sends a request about one shard that is to be taken.
func expect(ctx context.Context, l *link, h head, body ...[]byte) error {
	ctx, cancel := context.WithTimeout(ctx, pieceTimeout)
	defer cancel()
	answer, err := l.call(ctx, h, body...)
	if err != nil {
		return err
	}
	if v := verdictOf(answer, 0, h.Items[0].Shard); v != replica.Taken {
		return fmt.Errorf("%s: %w: %d", h.Kind, errVerdict, v)
	}
	return nil
}

// sendImages replaces what a peer has of a shard.
func (t *task) sendImages(ctx context.Context, owner *replica.Owner, bulk *link, at target, position replica.Position, pending []byte) error {
	last := head{Kind: kindInstall, Task: t.def, Last: true, Items: []item{{Shard: at.shard, Position: position, Size: len(pending)}}}
	var x *exchange
	out := &pieces{ctx: ctx, peers: t.peers, send: func(piece []byte) (err error) {
		if x == nil {
			x, err = bulk.begin(ctx, head{Kind: kindInstall}, piece)
			return err
		}
		return x.more(head{Kind: kindInstall}, piece)
	}}
	err := t.peers.Store.ExportShard(ctx, t.def.Name, at.shard, out.image)
	if err == nil {
		err = out.flush()
	}
	if x != nil {
		defer x.end()
	}
	if err != nil {
		return err
	}
	epoch, ok := t.epochOf(owner, at)
	if !ok {
		return errNotMember
	}
	last.Items[0].Epoch = epoch
	if x == nil {
		return expect(ctx, bulk, last, pending)
	}
	if err := x.more(last, pending); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pieceTimeout)
	defer cancel()
	answer, _, err := x.next(ctx)
	if err == nil && verdictOf(answer, 0, at.shard) != replica.Taken {
		err = errVerdict
	}
	return err
}

// pieces cuts images into frames and keeps to the bandwidth.
type pieces struct {
	ctx   context.Context //nolint:containedctx // of the one transfer that this is for
	peers *Peers
	send  func(piece []byte) error
	buf   []byte
}

// image adds an image: u64 length, bytes.
func (p *pieces) image(image []byte) error {
	p.buf = appendImage(p.buf, image)
	for len(p.buf) >= chunk {
		if err := p.piece(p.buf[:chunk]); err != nil {
			return err
		}
		p.buf = append(p.buf[:0], p.buf[chunk:]...)
	}
	return nil
}

func (p *pieces) flush() error {
	if len(p.buf) == 0 {
		return nil
	}
	return p.piece(p.buf)
}

func (p *pieces) piece(b []byte) error {
	if p.peers.limit != nil {
		if err := p.peers.limit.WaitN(p.ctx, len(b)); err != nil {
			return err
		}
	}
	return p.send(b)
}
