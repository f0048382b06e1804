// SPDX-License-Identifier: Apache-2.0

// This file answers peers: it takes in what they send of their shards and gives back what is asked for.

package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/replica"
)

const (
	greetTimeout = 10 * time.Second
	writeTimeout = time.Minute
	// mostConns bounds the connections of peers, mostRequests what one connection has under way.
	mostConns    = 1024
	mostRequests = 64
)

// Serve answers peers that know key on l until ctx ends. It closes l.
func (k *Keeper) Serve(ctx context.Context, l net.Listener, key []byte) error {
	group, ctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	free := make(chan struct{}, mostConns)
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return group.Wait()
			}
			return errors.Join(fmt.Errorf("accept peers: %w", err), group.Wait())
		}
		select {
		case free <- struct{}{}:
		default:
			_ = c.Close()
			continue
		}
		group.Go(func() error {
			defer func() { <-free }()
			if err := k.converse(ctx, c, key); err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
				k.log.Info("connection of a peer ended", zap.Stringer("from", c.RemoteAddr()), zap.Error(err))
			}
			return nil
		})
	}
}

// conversation is one connection.
type conversation struct {
	keeper   *Keeper
	writing  sync.Mutex
	conn     net.Conn
	out      *bufio.Writer
	incoming map[uint64]*incoming
}

// incoming is a shard on its way in.
type incoming struct {
	file  *os.File
	bytes int64
}

func (k *Keeper) converse(ctx context.Context, c net.Conn, key []byte) error {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(greetTimeout)); err != nil {
		return err
	}
	if err := greet(c, key, false); err != nil {
		return err
	}
	in := bufio.NewReaderSize(c, 64<<10)
	hello, _, err := readFrame(in)
	if err == nil && hello.Kind != kindHello {
		err = fmt.Errorf("a peer begins with %q", hello.Kind)
	}
	if err := errors.Join(err, c.SetDeadline(time.Time{})); err != nil {
		return err
	}
	leave, err := k.enter(ctx, hello, c)
	if err != nil {
		return err
	}
	defer leave()
	v := &conversation{keeper: k, conn: c, out: bufio.NewWriterSize(c, 64<<10), incoming: map[uint64]*incoming{}}
	defer v.discard()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(mostRequests)
	defer func() { _ = group.Wait() }()
	for ctx.Err() == nil {
		h, body, err := readFrame(in)
		if err != nil {
			return err
		}
		if h.Kind == kindInstall && !h.Last { // in order, so that the frames of an image stay so
			if err := v.takeIn(h.ID, body); err != nil {
				return err
			}
			continue
		}
		var taken *incoming
		if h.Kind == kindInstall {
			taken = v.incoming[h.ID]
			delete(v.incoming, h.ID)
		}
		group.Go(func() error {
			if err := v.answer(ctx, h, body, taken); err != nil {
				_ = c.Close()
				return err
			}
			return nil
		})
	}
	return ctx.Err()
}

// session is a connection of a peer, with its generation.
type session struct {
	generation int64
	conn       net.Conn
	done       chan struct{} // closed when nothing of it is under way any more
}

// enter waits until nothing of a peer's older generations is under way, so that no request is served after a later one.
func (k *Keeper) enter(ctx context.Context, hello head, c net.Conn) (leave func(), err error) {
	s := &session{generation: hello.Generation, conn: c, done: make(chan struct{})}
	leave = func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.sessions[hello.From] = slices.DeleteFunc(k.sessions[hello.From], func(o *session) bool { return o == s })
		if len(k.sessions[hello.From]) == 0 {
			delete(k.sessions, hello.From)
		}
		close(s.done)
	}
	var older []*session
	k.mu.Lock()
	for _, o := range k.sessions[hello.From] {
		if o.generation > s.generation {
			err = errors.New("a newer connection of the same peer is open")
		}
		if o.generation < s.generation {
			older = append(older, o)
		}
	}
	k.sessions[hello.From] = append(k.sessions[hello.From], s)
	k.mu.Unlock()
	for _, o := range older {
		if err != nil {
			break
		}
		_ = o.conn.Close()
		select {
		case <-o.done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		leave()
	}
	return leave, err
}

// answer does what a request asks for. Its error is the connection's.
func (v *conversation) answer(ctx context.Context, h head, body []byte, taken *incoming) error {
	var items []item
	var err error
	switch h.Kind {
	case kindSync, kindAppend:
		items, err = v.keeper.durable(ctx, h, body, nil)
	case kindInstall:
		items, err = v.keeper.install(ctx, h, body, taken)
	case kindFetch:
		return v.fetch(ctx, h)
	default:
		err = fmt.Errorf("request %q is not known", h.Kind)
	}
	answer := head{ID: h.ID, Items: items, Last: true}
	if err != nil {
		answer.Error = err.Error()
	}
	return v.write(answer, nil)
}

func (v *conversation) write(h head, body []byte) error {
	v.writing.Lock()
	defer v.writing.Unlock()
	if err := v.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if err := writeFrame(v.out, h, body); err != nil {
		return err
	}
	return v.out.Flush()
}

// takeIn writes a piece of a shard's images into a file.
func (v *conversation) takeIn(id uint64, piece []byte) error {
	in := v.incoming[id]
	if in == nil {
		if len(v.incoming) >= mostRequests {
			return errors.New("too many shards come at once")
		}
		f, err := v.keeper.newBase()
		if err != nil {
			return fmt.Errorf("take in a copy: %w", err)
		}
		in = &incoming{file: f}
		v.incoming[id] = in
	}
	n, err := in.file.Write(piece)
	in.bytes += int64(n)
	return err
}

// discard removes what was not finished.
func (v *conversation) discard() {
	for _, in := range v.incoming {
		_ = in.file.Close()
		v.keeper.unname(filepath.Base(in.file.Name()))
	}
}

// install makes a shard that came in whole the copy.
func (k *Keeper) install(ctx context.Context, h head, body []byte, in *incoming) ([]item, error) {
	if len(h.Items) != 1 {
		return nil, fmt.Errorf("install %d shards: %w", len(h.Items), stateapi.ErrCorrupt)
	}
	if in != nil {
		err := errors.Join(in.file.Sync(), in.file.Close(), regular.SyncDir(k.dir))
		h.Base, h.Items[0].Bytes = filepath.Base(in.file.Name()), in.bytes
		if err != nil {
			k.unname(h.Base)
			return nil, fmt.Errorf("take in a copy: %w", err)
		}
	}
	items, err := k.durable(ctx, h, body, nil)
	if err == nil && items[0].Verdict != replica.Taken {
		k.unname(h.Base)
	}
	return items, err
}

// fetch seals shards for a successor and sends them.
func (v *conversation) fetch(ctx context.Context, h head) error {
	k := v.keeper
	k.using.RLock()
	defer k.using.RUnlock()
	var held []heldShard
	items, err := k.durable(ctx, h, nil, func() { held = k.seen(h) })
	if err != nil {
		return v.write(head{ID: h.ID, Error: err.Error(), Last: true}, nil)
	}
	for i := range items {
		items[i].Copy, items[i].Bytes = held[i].Copy, held[i].BaseBytes
	}
	if err := v.write(head{ID: h.ID, Items: items}, nil); err != nil {
		return err
	}
	for i, it := range items {
		if it.Verdict != replica.Taken || !it.Copy.Complete {
			continue
		}
		if err := v.send(ctx, h.ID, it.Shard, held[i]); err != nil {
			k.log.Error("a copy cannot be read", zap.Any("state", h.Task.Name), zap.Int("shard", it.Shard), zap.Error(err))
			return v.write(head{ID: h.ID, Error: err.Error(), Last: true}, nil)
		}
	}
	return v.write(head{ID: h.ID, Last: true}, nil)
}

// seen copies what the keeper has of shards. The caller holds mu.
func (k *Keeper) seen(h head) []heldShard {
	held := make([]heldShard, len(h.Items))
	for i, it := range h.Items {
		held[i] = *k.tasks[h.Task.Name].shards[it.Shard]
	}
	return held
}

// send sends one shard: its images, the parts behind them, the pending part.
func (v *conversation) send(ctx context.Context, id uint64, shard int, s heldShard) error {
	frame := func(what string, body []byte) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return v.write(head{ID: id, Items: []item{{Shard: shard, What: what}}}, body)
	}
	if s.Base != "" {
		f, err := os.Open(filepath.Join(v.keeper.dir, s.Base))
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read from
		buf := make([]byte, chunk)
		for left := s.BaseBytes; left > 0; {
			n, err := io.ReadFull(f, buf[:min(left, chunk)])
			if err != nil {
				return fmt.Errorf("%s is shorter than %d bytes: %w", s.Base, s.BaseBytes, err)
			}
			if err := frame(whatImages, buf[:n]); err != nil {
				return err
			}
			left -= int64(n)
		}
	}
	send := func(what string, p part) error {
		body, err := v.keeper.readPart(shard, p)
		if err != nil {
			return err
		}
		return frame(what, body)
	}
	for _, p := range s.Tail {
		if err := send(whatPart, p); err != nil {
			return err
		}
	}
	if s.Pending.Number != 0 {
		return send(whatPending, s.Part)
	}
	return nil
}
