// SPDX-License-Identifier: Apache-2.0

// This file tidies up a keeper's folder: parts of batches are merged into new base files, so that the journal can be cut.

package peer

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
	"github.com/gust-stream/gust/stateapi/replica"
	"github.com/gust-stream/gust/stateapi/table"
)

const (
	// tailLeast is how many bytes of parts a shard may have behind its base in any case; else it is a quarter of the base.
	tailLeast = 1 << 20
	// journalMost is how much of the journal is kept before shards that rarely change are merged too.
	journalMost = 256 << 20
	// checkpointEvery is after how many bytes of journal the copies are written down.
	checkpointEvery = 32 << 20
	// scratchCapacity is the address space in which one shard is merged.
	scratchCapacity = 64 << 30
)

// Run tidies up whenever there is something to tidy up, until ctx ends.
func (k *Keeper) Run(ctx context.Context, arenaDir string) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.dirty:
		}
		k.removeUnnamed()
		for {
			w, ok := k.nextMerge()
			if !ok || ctx.Err() != nil {
				break
			}
			if err := k.merge(ctx, w, arenaDir); err != nil {
				if ctx.Err() == nil {
					k.log.Error("a copy cannot be merged", zap.Any("state", w.task.Name), zap.Int("shard", w.shard), zap.Error(err))
				}
				if errors.Is(err, stateapi.ErrCorrupt) {
					k.spoil(w)
				}
				break
			}
		}
		k.carry(ctx)
		k.mu.Lock()
		due := k.journal.End()-k.saved > checkpointEvery
		k.mu.Unlock()
		if !due {
			continue
		}
		if err := k.saveCheckpoint(); err != nil {
			k.log.Warn("copies are not written down, their journal grows", zap.Error(err))
		}
	}
}

// merging is a shard to be merged, as it was when it was chosen.
type merging struct {
	task  stateapi.Definition
	shard int
	held  heldShard
}

// nextMerge finds a shard with too many bytes behind its base, or one that holds up the end of the journal.
func (k *Keeper) nextMerge() (merging, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	end := k.journal.End()
	for _, t := range k.tasks {
		for i, s := range t.shards {
			holdsUp := len(s.Tail) > 0 && end-s.Tail[0].Position > journalMost
			if s.Complete && (holdsUp || s.tailBytes() > max(tailLeast, s.BaseBytes/4)) {
				return merging{t.def, i, *s}, true
			}
		}
	}
	return merging{}, false
}

// spoil makes a copy that cannot be read incomplete: its owner sends it again with the next record.
func (k *Keeper) spoil(w merging) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.tasks[w.task.Name]; t != nil && t.shards[w.shard] != nil && t.shards[w.shard].Base == w.held.Base {
		t.shards[w.shard].Complete = false
	}
}

// carry writes pending parts that hold up the end of the journal into it again.
func (k *Keeper) carry(ctx context.Context) {
	var old []merging
	k.mu.Lock()
	end := k.journal.End()
	for _, t := range k.tasks {
		for i, s := range t.shards {
			if s.Part.Size > 0 && end-s.Part.Position > journalMost {
				old = append(old, merging{t.def, i, *s})
			}
		}
	}
	k.mu.Unlock()
	for _, w := range old {
		k.using.RLock()
		body, err := k.readPart(w.shard, w.held.Part)
		k.using.RUnlock()
		if err == nil {
			it := item{Shard: w.shard, Size: len(body), Position: w.held.Position}
			_, err = k.durable(ctx, head{Kind: kindCarry, Task: w.task, Items: []item{it}}, body, nil)
		}
		if err != nil && ctx.Err() == nil {
			k.log.Error("a pending part of a copy cannot be kept", zap.Any("state", w.task.Name), zap.Int("shard", w.shard), zap.Error(err))
		}
	}
}

// merge makes a new base file of a shard's base and the parts behind it.
func (k *Keeper) merge(ctx context.Context, w merging, arenaDir string) error {
	name, size, err := k.mergeFiles(ctx, w, arenaDir)
	if err != nil {
		return err
	}
	h := head{Kind: kindCompact, Task: w.task, Base: name, Old: w.held.Base, Items: []item{{Shard: w.shard, Bytes: size, Parts: len(w.held.Tail)}}}
	items, err := k.durable(ctx, h, nil, nil)
	if err == nil && items[0].Verdict != replica.Taken {
		k.unname(name)
	}
	return err
}

// mergeFiles writes the new file. An empty name stands for no key.
func (k *Keeper) mergeFiles(ctx context.Context, w merging, arenaDir string) (name string, size int64, err error) {
	k.using.RLock()
	defer k.using.RUnlock()
	a, err := arena.Create(arenaDir, scratchCapacity)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, a.Retire(), a.Close()) }()
	t, err := table.New(a, 1, int(w.task.Shards), nil)
	if err != nil {
		return "", 0, err
	}
	if w.held.Base != "" {
		f, err := os.Open(filepath.Join(k.dir, w.held.Base))
		if err != nil {
			return "", 0, err
		}
		err = eachImage(bufio.NewReaderSize(io.LimitReader(f, w.held.BaseBytes), chunk), func(image []byte) error {
			return installShard(t, w.shard, image)
		})
		if err = errors.Join(err, f.Close()); err != nil {
			return "", 0, fmt.Errorf("%s: %w", w.held.Base, err)
		}
	}
	for _, p := range w.held.Tail {
		if ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
		body, err := k.readPart(w.shard, p)
		if err != nil {
			return "", 0, err
		}
		if err := applyPart(t, w.shard, body); err != nil {
			return "", 0, err
		}
	}
	return k.writeBase(t)
}

// writeBase writes all images of a table into a new base file.
func (k *Keeper) writeBase(t *table.Table) (name string, size int64, err error) {
	f, err := k.newBase()
	if err != nil {
		return "", 0, err
	}
	name = filepath.Base(f.Name())
	out := bufio.NewWriterSize(f, chunk)
	var image table.Image
	for there, hash := false, uint64(0); err == nil; hash = image.Next {
		if image, there, err = t.Image(image.Bytes[:0], hash); there && err == nil {
			size += writeImage(out, image.Bytes)
		}
		if image.Next == 0 {
			break
		}
	}
	if err = errors.Join(err, out.Flush(), f.Sync(), f.Close()); err != nil {
		k.unname(name)
		return "", 0, err
	}
	return name, size, nil
}

// writeImage writes an image as base files and frames have it: u64 length, bytes. Errors are the writer's to remember.
func writeImage(w *bufio.Writer, image []byte) int64 {
	n, _ := w.Write(appendImage(nil, image))
	return int64(n)
}

func appendImage(dst, image []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(dst, uint64(len(image))), image...)
}

// eachImage reads what writeImage wrote. The image is overwritten by the next.
func eachImage(r io.Reader, do func(image []byte) error) error {
	var length [8]byte
	var image []byte
	for {
		if _, err := io.ReadFull(r, length[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("images: %w", err)
		}
		n := binary.LittleEndian.Uint64(length[:])
		if n > 1<<40 {
			return fmt.Errorf("an image of %d bytes: %w", n, stateapi.ErrCorrupt)
		}
		var err error
		if n <= uint64(cap(image)) || n <= maxHead {
			image = append(image[:0], make([]byte, n)...)
			_, err = io.ReadFull(r, image)
		} else if image, err = io.ReadAll(io.LimitReader(r, int64(n))); err == nil && uint64(len(image)) < n {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("images: %w", err)
		}
		if err := do(image); err != nil {
			return err
		}
	}
}

// clearPart is the part that stands for the removal of all keys: no batch is one byte long.
const clearPart = 0xff

func isClear(body []byte) bool { return len(body) == 1 && body[0] == clearPart }

// shardRange is the hash range of a shard of a table.
func shardRange(shard, shards int) (prefix uint64, depth uint8) {
	depth = uint8(bits.TrailingZeros(uint(shards)))
	return uint64(shard) << (63 - depth) << 1, depth
}

// installShard takes a shard's keys out of an image.
func installShard(t *table.Table, shard int, image []byte) error {
	prefix, depth := shardRange(shard, t.Shards())
	return t.InstallIn(image, prefix, depth)
}

// applyPart does what a part says.
func applyPart(t *table.Table, shard int, body []byte) error {
	if isClear(body) {
		prefix, depth := shardRange(shard, t.Shards())
		return t.Clear(prefix, depth)
	}
	return t.Apply(body, 0)
}
