// SPDX-License-Identifier: Apache-2.0

// The frame reader by itself: what it cuts out, and what it holds meanwhile.

package rpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"
)

// pieces hands a stream out in reads of the given sizes, again and again.
type pieces struct {
	data  []byte
	sizes []byte
	next  int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := len(p.data)
	if len(p.sizes) > 0 {
		n = int(p.sizes[p.next%len(p.sizes)])%64 + 1
		p.next++
	}
	n = copy(b, p.data[:min(n, len(p.data))])
	p.data = p.data[n:]
	return n, nil
}

// cut is what the frame reader should do, written down as simply as can be.
func cut(stream []byte, limit int) (frames [][]byte, whole bool) {
	for len(stream) > 0 {
		if len(stream) < prefixLen {
			return frames, false
		}
		n := int64(int32(binary.BigEndian.Uint32(stream)))
		if n <= 0 || n > int64(limit) || int64(len(stream)-prefixLen) < n {
			return frames, false
		}
		frames = append(frames, stream[prefixLen:prefixLen+n])
		stream = stream[prefixLen+n:]
	}
	return frames, true
}

func FuzzFrames(f *testing.F) {
	f.Add(framed([]byte("hello")), []byte{0})
	f.Add(append(framed([]byte("a")), framed(bytes.Repeat([]byte("b"), 5000))...), []byte{1, 63})
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff, 1, 2, 3}, []byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, []byte{2})
	f.Add([]byte{0, 0, 0, 0}, []byte{2})
	f.Add(framed(bytes.Repeat([]byte("c"), headLen-prefixLen)), []byte{7})
	f.Fuzz(func(t *testing.T, stream, sizes []byte) {
		const limit = 20_000
		budget := semaphore.NewWeighted(limit)
		r := &frameReader{r: &pieces{data: stream, sizes: sizes}, limit: limit, pool: newBufferPool(limit), budget: budget}
		want, whole := cut(stream, limit)
		for i := 0; ; i++ {
			fr, err := r.read(t.Context(), time.Now().Add(patience))
			if err != nil {
				if i != len(want) || (err == io.EOF) != whole { //nolint:errorlint // a regular end is the bare value
					t.Fatalf("after %d of %d frames: %v", i, len(want), err)
				}
				break
			}
			if i >= len(want) {
				t.Fatalf("frame too many: %d bytes", len(fr.data))
			}
			if diff := cmp.Diff(want[i], fr.data); diff != "" {
				t.Fatalf("frame %d: (-want +got)\n%s", i, diff)
			}
			fr.release()
		}
		if !budget.TryAcquire(limit) {
			t.Fatal("part of the budget was not given back")
		}
	})
}

func TestFrameMemoryFollowsBytesReceived(t *testing.T) {
	t.Parallel()
	const limit = 1 << 30
	for _, sent := range []int{1, headLen, smallestBuffer, 100_000} {
		budget := semaphore.NewWeighted(limit)
		data := binary.BigEndian.AppendUint32(nil, limit)
		data = append(data, make([]byte, sent)...)
		seen := int64(0)
		r := &frameReader{limit: limit, pool: newBufferPool(limit), budget: budget}
		r.r = io.MultiReader(bytes.NewReader(data), readFunc(func([]byte) (int, error) {
			for budget.TryAcquire(1) { // what is left is what the reader has not taken
				seen++
			}
			return 0, io.EOF
		}))
		// Counting a budget of a gigabyte one by one takes too long: leave little of it.
		const left = 4 * 100_000
		if !budget.TryAcquire(limit - 2*left) {
			t.Fatal("budget is not fresh")
		}
		_, err := r.read(t.Context(), time.Now().Add(patience))
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d bytes: %v", sent, err)
		}
		if held := 2*left - seen; held > int64(4*sent) {
			t.Errorf("%d bytes received, %d bytes held", sent, held)
		}
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

func TestFrameWaitsForBudget(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	newReader := func(budget *semaphore.Weighted) *frameReader {
		return &frameReader{r: bytes.NewReader(framed(make([]byte, limit))), limit: limit, pool: newBufferPool(limit), budget: budget}
	}
	budget := semaphore.NewWeighted(limit)
	if !budget.TryAcquire(limit) {
		t.Fatal("budget is not fresh")
	}
	if _, err := newReader(budget).read(t.Context(), time.Now()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no budget, time is over: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		fr, err := newReader(budget).read(t.Context(), time.Now().Add(patience))
		fr.release()
		got <- err
	}()
	budget.Release(limit)
	if err := within(t, got); err != nil {
		t.Errorf("budget came back: %v", err)
	}
}
