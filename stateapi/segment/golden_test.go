// SPDX-License-Identifier: Apache-2.0

// This file keeps the layout where it is: the same steps must make the bytes in testdata, which readers in other languages may be tested with too. A .json
// beside each .segment has what is in it, in hex. After a wanted change: go test ./stateapi/segment -run TestGolden -update

package segment

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata anew")

// golden is a segment that steps make.
type golden struct {
	name     string
	shape    Shape
	prefix   uint64
	depth    uint8
	position uint64
	steps    func(m *maker)
}

// maker does the steps.
type maker struct {
	seg    []byte
	failed error
}

func (m *maker) put(key, value []byte, flags byte) {
	if r := Put(m.seg, Hash(key), key, Value{Bytes: value, Flags: flags}, noUndo); r > Replaced {
		m.failed = fmt.Errorf("put %q answers %d", key, r)
	}
}

func (m *maker) remove(key []byte) {
	if !Delete(m.seg, Hash(key), key, noUndo) {
		m.failed = fmt.Errorf("no %q", key)
	}
}

// belonging are n keys that belong into the segment.
func (m *maker) belonging(n int, key func(i uint64) []byte) (keys [][]byte) {
	for i := uint64(0); len(keys) < n; i++ {
		if k := key(i); belongs(Hash(k), Prefix(m.seg), Depth(m.seg)) {
			keys = append(keys, k)
		}
	}
	return keys
}

// build makes the segment as an image.
func (g golden) build() []byte {
	m := &maker{seg: fresh(g.shape, g.prefix, g.depth)}
	g.steps(m)
	if m.failed != nil {
		return nil
	}
	SetPosition(m.seg, g.position)
	if Kind(m.seg) == Records {
		clear(m.seg[get32(m.seg, atUsed):]) // free bytes may be anything; here they are 0, for the file's sake
	}
	Seal(m.seg)
	return m.seg
}

func goldenOf(t *testing.T, name string) golden {
	t.Helper()
	for _, g := range goldens() {
		if g.name == name {
			return g
		}
	}
	t.Fatalf("no %s", name)
	return golden{}
}

func goldens() []golden {
	return []golden{
		{name: "empty", shape: Choose(Stats{}), steps: func(*maker) {}},
		{
			name:   "fixed",
			shape:  Shape{Kind: Fixed, KeySize: 8, ValueSize: 8, Blocks: 3, Length: HeaderSize + 3*BlockSize},
			prefix: 5 << 61, depth: 3, position: 0x0102030405060708,
			steps: func(m *maker) {
				keys := m.belonging(42, func(i uint64) []byte { key, _ := numbers8(i); return key })
				for i, key := range keys {
					_, value := numbers8(uint64(i))
					m.put(key, value, 0)
				}
				m.remove(keys[3])
				m.remove(keys[29])
				m.put(keys[7], []byte("replaced"), 0)
			},
		},
		{
			name:  "fixed-sixteen",
			shape: Shape{Kind: Fixed, KeySize: 16, ValueSize: 2, Blocks: 2, Length: HeaderSize + 2*BlockSize},
			steps: func(m *maker) {
				for i := range 22 {
					m.put(fmt.Appendf(nil, "sixteen bytes %02d", i), []byte{byte(i), 0xff}, 0)
				}
			},
		},
		{
			name:  "packed",
			shape: Shape{Kind: Packed, Blocks: 4, Length: HeaderSize + 4*BlockSize}, prefix: 1 << 63, depth: 1, position: 77,
			steps: packedSteps,
		},
		{
			name:  "records",
			shape: Shape{Kind: Records, Blocks: 24, Length: 1024}, position: 1 << 40,
			steps: recordsSteps,
		},
	}
}

// packedSteps has keys and values of all lengths around 15, where one byte for both becomes two or three.
func packedSteps(m *maker) {
	long := func(b byte, n int) []byte { return bytes.Repeat([]byte{b}, n) }
	for i, key := range m.belonging(76, func(i uint64) []byte { return fmt.Appendf(nil, "word%d", i*i+2) }) {
		m.put(key, []byte{byte(i)}, 0)
		if i%9 == 0 {
			m.put(key, []byte{byte(i), 1, 2}, 0) // longer: what follows shifts
		}
		if i%10 == 5 {
			m.remove(key)
		}
	}
	for _, n := range []int{13, 14, 15, 16, 40} {
		m.put(m.belonging(1, func(i uint64) []byte { return long(byte(i), n) })[0], long('v', 30-n/2), 0)
	}
	m.put(m.belonging(1, func(i uint64) []byte { return []byte{byte(i)} })[0], nil, 0)
}

// recordsSteps has lengths of one byte and of two, the key of no bytes, flags, dead records and deleted words.
func recordsSteps(m *maker) {
	for i := range 16 {
		m.put(fmt.Appendf(nil, "key %d", i), bytes.Repeat([]byte{'x'}, i), 0)
	}
	m.put(nil, []byte("the key of no bytes"), 0)
	m.put([]byte("long"), bytes.Repeat([]byte("0123456789"), 14), 0)
	// The full length, 5, and a deflate stream of one stored block.
	m.put([]byte("deflated"), []byte("\x05\x01\x05\x00\xfa\xffhello"), Deflated)
	m.put([]byte("outside"), []byte("\x00\x00\x10\x00\x00\x00\x00\x00\x01\x80\x00\x00\xef\xbe\xad\xde"), Outside)
	for i := range 4 {
		m.remove(fmt.Appendf(nil, "key %d", 3*i))
	}
	m.put([]byte("key 5"), []byte("another length"), 0)
	m.put([]byte("key 7"), []byte("in place"[:7]), 0)
}

// listed is what a .json says.
type listed struct {
	Kind     uint8         `json:"kind"`
	Prefix   string        `json:"prefix"` // 16 hex digits, most significant first
	Depth    uint8         `json:"depth"`
	Position uint64        `json:"position"`
	Entries  []listedEntry `json:"entries"` // in the order of places
	Absent   []string      `json:"absent"`  // keys that are not there
}

type listedEntry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Flags byte   `json:"flags"`
	Hash  string `json:"hash"`
}

func list(t *testing.T, seg []byte) listed {
	t.Helper()
	l := listed{
		Kind: Kind(seg), Prefix: fmt.Sprintf("%016x", Prefix(seg)), Depth: Depth(seg), Position: Position(seg),
		Entries: []listedEntry{}, Absent: []string{},
	}
	if err := Each(seg, func(key []byte, v Value) bool {
		hash := fmt.Sprintf("%016x", Hash(key))
		l.Entries = append(l.Entries, listedEntry{hex.EncodeToString(key), hex.EncodeToString(v.Bytes), v.Flags, hash})
		return true
	}); err != nil {
		t.Fatal(err)
	}
	for i := uint64(0); len(l.Absent) < 20; i++ {
		key, _ := numbers8(i * 1000003)
		if _, there := Find(seg, Hash(key), key); !there && belongs(Hash(key), Prefix(seg), Depth(seg)) {
			l.Absent = append(l.Absent, hex.EncodeToString(key))
		}
	}
	return l
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, g := range goldens() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			built, file := g.build(), filepath.Join("testdata", g.name)
			if built == nil {
				t.Fatal("the steps fail")
			}
			if *update {
				text, err := json.MarshalIndent(list(t, built), "", " ")
				if err != nil {
					t.Fatal(err)
				}
				write(t, file+".segment", built)
				write(t, file+".json", append(text, '\n'))
			}
			seg, text := read(t, file+".segment"), read(t, file+".json")
			if diff := cmp.Diff(hex.Dump(seg), hex.Dump(built)); diff != "" {
				t.Errorf("the layout has changed (-file +built):\n%s", diff)
			}
			readsGolden(t, seg, text)
		})
	}
}

// readsGolden reads the file with all readers.
func readsGolden(t *testing.T, seg, text []byte) {
	t.Helper()
	if err := CheckSum(seg); err != nil {
		t.Error(err)
	}
	if err := Verify(seg); err != nil {
		t.Error(err)
	}
	var want listed
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, list(t, seg)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	var c Copy
	for _, e := range want.Entries {
		key, err := hex.DecodeString(e.Key)
		if err != nil {
			t.Fatal(err)
		}
		v, found, err := FindCopied(seg, &c, Hash(key), key)
		if err != nil || !found || hex.EncodeToString(v.Bytes) != e.Value || v.Flags != e.Flags {
			t.Errorf("%s: %x, %d, %t, %v", e.Key, v.Bytes, v.Flags, found, err)
		}
	}
	for _, absent := range want.Absent {
		key, err := hex.DecodeString(absent)
		if err != nil {
			t.Fatal(err)
		}
		if _, found, err := FindCopied(seg, &c, Hash(key), key); found || err != nil {
			t.Errorf("%s: %t, %v", absent, found, err)
		}
	}
}

// TestGoldenHasAll sees to it that the files show what the layout has.
func TestGoldenHasAll(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"fixed", "packed"} {
		seg := goldenOf(t, name).build()
		at := packedSpill
		if name == "fixed" {
			at = slots8
		}
		spilled, around := 0, false
		for i := range get32(seg, atBlocks) {
			if blockAt(seg, i)[at] != 0 {
				spilled++
				around = around || i == get32(seg, atBlocks)-1
			}
		}
		if spilled == 0 || !around {
			t.Errorf("%s: %d blocks have spilled, past the end: %t", name, spilled, around)
		}
	}
	seg := goldenOf(t, "records").build()
	if get32(seg, atDead) == 0 || get32(seg, atDeleted) == 0 {
		t.Errorf("%d dead bytes, %d deleted words", get32(seg, atDead), get32(seg, atDeleted))
	}
	if got := strings.Count(string(seg), "hello"); got != 1 {
		t.Errorf("%d deflated values", got)
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
