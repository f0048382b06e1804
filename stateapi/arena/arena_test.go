// SPDX-License-Identifier: Apache-2.0

// This file tests taking, giving back and adopting pieces.

package arena

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/stateapi"
)

// piece is a piece of the model, filled with one number.
type piece struct {
	offset, length uint64
	mark           byte
}

func (p piece) check(t *rapid.T, a *Arena) {
	b := a.Bytes(p.offset, p.length)
	if b[0] != p.mark || b[len(b)-1] != p.mark || bytes.Count(b, []byte{p.mark}) != len(b) {
		t.Fatalf("piece %+v was overwritten", p)
	}
}

func TestPiecesKeepWhatIsInThem(t *testing.T) {
	t.Parallel()
	dir := memoryDir(t)
	rapid.Check(t, func(t *rapid.T) {
		a, err := Create(dir, 2*Region)
		if err != nil {
			t.Fatal(err)
		}
		empty := a.InUse()
		var pieces []piece
		take := func(t *rapid.T) {
			length := rapid.OneOf(rapid.Uint64Range(0, 4096), rapid.Uint64Range(1, LargestCell), rapid.Uint64Range(LargestCell, Slot),
				rapid.Uint64Range(Slot, 1<<20)).Draw(t, "length")
			offset, err := a.Alloc(length)
			if err != nil {
				t.Fatal(err)
			}
			p := piece{offset, length, byte(1 + len(pieces)%255)}
			for i := range a.Bytes(offset, length) {
				a.Bytes(offset, length)[i] = p.mark
			}
			if length > 0 {
				pieces = append(pieces, p)
			} else {
				a.Free(offset, 0)
			}
		}
		give := func(t *rapid.T) {
			if len(pieces) == 0 {
				return
			}
			i := rapid.IntRange(0, len(pieces)-1).Draw(t, "which")
			pieces[i].check(t, a)
			a.Free(pieces[i].offset, pieces[i].length)
			pieces = slices.Delete(pieces, i, i+1)
		}
		adopt := func(t *rapid.T) {
			path := a.Path()
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			if a, err = Adopt(path); err != nil {
				t.Fatal(err)
			}
			for _, p := range pieces {
				if err := a.Claim(p.offset, p.length); err != nil {
					t.Fatal(err)
				}
			}
			if err := a.Sweep(); err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": take, "take more": take, "give": give, "adopt": adopt,
			"": func(t *rapid.T) {
				for _, p := range pieces {
					p.check(t, a)
				}
				info, err := os.Stat(a.Path())
				if err != nil {
					t.Fatal(err)
				}
				if got := blocks(info); got != a.InUse() {
					t.Fatalf("file takes %d bytes, arena says %d", got, a.InUse())
				}
			},
		})
		for _, p := range pieces {
			a.Free(p.offset, p.length)
		}
		if got := a.InUse(); got > empty+warmSlots*Slot {
			t.Fatalf("%d bytes in use after all was given back, %d before", got, empty)
		}
		if err := errors.Join(a.Retire(), a.Close()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDescriptorsAreFoundAgain(t *testing.T) {
	t.Parallel()
	a := create(t, memoryDir(t))
	want := map[uint64]uint64{}
	for id := uint64(1); id <= 10_000; id++ {
		offset, err := a.NewDescriptor()
		if err != nil {
			t.Fatal(err)
		}
		if id%3 == 0 {
			a.FreeDescriptor(offset)
			continue
		}
		a.Word(offset + NamespaceAt).Store(id)
		want[offset] = id
	}
	path, inUse := a.Path(), a.InUse()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := Adopt(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	got := maps.Collect(b.Descriptors())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if _, err := b.Alloc(1); err == nil {
		t.Fatal("a piece was taken before Sweep")
	}
	if err := b.Sweep(); err != nil {
		t.Fatal(err)
	}
	if b.InUse() != inUse || taken(t, b) != inUse {
		t.Fatalf("%d bytes in use after adoption, file takes %d, before %d", b.InUse(), taken(t, b), inUse)
	}
}

func TestWriterIsAlone(t *testing.T) {
	t.Parallel()
	a := create(t, memoryDir(t))
	if _, err := Adopt(a.Path()); !errors.Is(err, ErrInUse) {
		t.Fatalf("second writer: %v", err)
	}
}

func TestReaderLearnsOfRetirement(t *testing.T) {
	t.Parallel()
	a := create(t, memoryDir(t))
	v, err := Map(a.Path(), a.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}()
	if v.Retired() || v.Bytes(Region, 1) != nil || v.Bytes(Region-1, 2) != nil || v.Word(4) != nil || len(v.Bytes(Region-8, 8)) != 8 {
		t.Fatal("view is not what the arena is")
	}
	if _, err := Map(a.Path(), a.ID()+2); err == nil {
		t.Fatal("another id was accepted")
	}
	if err := a.Retire(); err != nil {
		t.Fatal(err)
	}
	if !v.Retired() {
		t.Fatal("reader does not see that the arena is retired")
	}
	if _, err := os.Stat(a.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("file of a retired arena: %v", err)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	a := create(t, memoryDir(t))
	a.SetLimit(1 << 20)
	var taken []uint64
	for {
		offset, err := a.Alloc(100 << 10)
		if errors.Is(err, stateapi.ErrNoRoom) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, offset)
	}
	if len(taken) < 8 || a.InUse() > 1<<20 {
		t.Fatalf("%d pieces with %d bytes", len(taken), a.InUse())
	}
	for _, offset := range taken {
		a.Free(offset, 100<<10)
	}
	if _, err := a.Alloc(800 << 10); err != nil {
		t.Fatal(err)
	}
}

func TestHostileFilesAreRefused(t *testing.T) {
	t.Parallel()
	a := create(t, memoryDir(t))
	if _, err := a.NewDescriptor(); err != nil {
		t.Fatal(err)
	}
	whole := bytes.Clone(a.Bytes(0, headerSize))
	for name, change := range map[string]func(b []byte){
		"Magic":       func(b []byte) { b[0]++ },
		"Version":     func(b []byte) { b[atVersion]++ },
		"ID":          func(b []byte) { b[atID]++ },
		"Capacity":    func(b []byte) { b[atCapacity+4]++ },
		"Retired":     func(b []byte) { b[atRetired] = 1 },
		"Loop":        func(b []byte) { binary.LittleEndian.PutUint64(b[atDescriptors:], 0x40) },
		"Outside":     func(b []byte) { binary.LittleEndian.PutUint64(b[atDescriptors:], Region) },
		"Hole":        func(b []byte) { binary.LittleEndian.PutUint64(b[atDescriptors:], 9*Slot) },
		"AllOnes":     func(b []byte) { binary.LittleEndian.PutUint64(b[atDescriptors:], ^uint64(0)) },
		"NoDirectory": nil,
	} {
		t.Run(name, func(t *testing.T) {
			path := memoryDir(t) + "/arena"
			if change != nil {
				b := bytes.Clone(whole)
				change(b)
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(path, Region); err != nil {
					t.Fatal(err)
				}
			}
			if b, err := Adopt(path); err == nil {
				t.Fatal("adopted", b.Close())
			}
		})
	}
}
