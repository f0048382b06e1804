// SPDX-License-Identifier: Apache-2.0

// This file kills a writer at random instants while another process reads.

package table

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
)

// childDir is the environment variable that makes the test binary a writer: the directory with its arena.
const childDir = "GUST_TABLE_TEST_DIR"

const namespaces = 3 // fixed, packed, records with long values

// child applies batches for ever.
func child(dir string) {
	a, tables, err := openAll(dir)
	if err != nil {
		panic(err)
	}
	defer func() { _ = a.Close() }()
	fmt.Fprintln(os.Stdout, "ready")
	for {
		for i, table := range tables {
			n := table.Position() + 1
			batch, _ := batchOf(i, n)
			if err := table.Apply(batch, n); err != nil {
				panic(err)
			}
			table.SetApplied(n)
		}
	}
}

// openAll adopts the arena in a directory.
func openAll(dir string) (a *arena.Arena, tables []*Table, err error) {
	found, err := filepath.Glob(dir + "/arena-*")
	if err != nil || len(found) != 1 {
		return nil, nil, fmt.Errorf("arenas %v, %w", found, err)
	}
	if a, err = arena.Adopt(found[0]); err != nil {
		return nil, nil, err
	}
	tables = make([]*Table, namespaces)
	for offset, id := range a.Descriptors() {
		if tables[id-1], err = Open(a, offset, nil); err != nil {
			return nil, nil, errors.Join(err, a.Close())
		}
	}
	return a, tables, a.Sweep()
}

// batchOf is batch n of a namespace: mostly puts, then mostly deletes, and so on.
func batchOf(namespace int, n uint64) ([]byte, map[string]string) {
	random := rand.New(rand.NewPCG(n, uint64(namespace)))
	var b stateapi.Batch
	did := map[string]string{}
	for range 400 {
		key := keyOf(namespace, random.Uint64N(20_000))
		if random.Uint64N(10) < 2+n/30%2*6 {
			b.Delete(key)
			did[string(key)] = ""
			continue
		}
		length := [namespaces]uint64{8, 8 + random.Uint64N(12), 8 + random.Uint64N(150)}[namespace]
		if namespace == 2 && random.Uint64N(400) == 0 {
			length = 33_000 + random.Uint64N(400_000)
		}
		value := valueOf(key, uint32(n), int(length))
		b.Put(key, value)
		did[string(key)] = string(value)
	}
	return b.Bytes(), did
}

func keyOf(namespace int, n uint64) []byte {
	if namespace == 0 {
		return number(n)
	}
	return fmt.Appendf(nil, "word-%d", n)
}

// valueOf is a value that says whether all of it is of one version, and the key's.
func valueOf(key []byte, version uint32, length int) []byte {
	value := bytes.Repeat(binary.LittleEndian.AppendUint32(nil, version), length/4+1)[:length]
	binary.LittleEndian.PutUint32(value[4:], sumOf(key, value))
	return value
}

func sumOf(key, value []byte) uint32 {
	sum := crc32.ChecksumIEEE(key)
	return crc32.Update(crc32.Update(sum, crc32.IEEETable, value[:4]), crc32.IEEETable, value[8:])
}

func TestKilledWriter(t *testing.T) {
	t.Parallel()
	dir := memoryDir(t)
	a, err := arena.Create(dir, 16*arena.Region)
	if err != nil {
		t.Fatal(err)
	}
	var descriptors []uint64
	for id := range uint64(namespaces) {
		table, err := New(a, id+1, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		descriptors = append(descriptors, table.Descriptor())
	}
	path, arenaID := a.Path(), a.ID()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	models, done := make([]map[string]string, namespaces), make([]uint64, namespaces)
	for i := range models {
		models[i] = map[string]string{}
	}
	found := 0
	for round := range 40 {
		random := rand.New(rand.NewPCG(uint64(round), 5))
		found += killOne(t, dir, path, arenaID, descriptors, time.Duration(1+random.IntN(60_000))*time.Microsecond)
		checkAll(t, dir, models, done)
	}
	t.Logf("%d values read while they were written, batches %d", found, done)
	if found == 0 || done[0] < 40 {
		t.Fatal("nothing was written or read")
	}
}

// killOne starts a writer, reads what it writes, and kills it.
func killOne(t *testing.T, dir, path string, id uint64, descriptors []uint64, after time.Duration) (found int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self)
	command.Env = append(os.Environ(), childDir+"="+dir)
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("writer says %q, then %v", line, command.Wait())
	}
	v, err := arena.Map(path, id)
	if err != nil {
		t.Fatal(err)
	}
	var readers []*Reader
	for i := range uint64(namespaces) {
		r, err := NewReader(v, descriptors[i], i+1)
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	var dst []byte
	for begin, n := time.Now(), uint64(0); time.Since(begin) < after; n++ {
		for i, r := range readers {
			key, ok := keyOf(i, n*7919%20_000), false
			dst, ok, err = r.Get(dst[:0], key)
			if errors.Is(err, ErrBusy) {
				continue // the writer waits for a processor in the middle of a change
			}
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue
			}
			if found++; len(dst) < 8 || binary.LittleEndian.Uint32(dst[4:]) != sumOf(key, dst) {
				t.Fatalf("namespace %d key %q: torn value of %d bytes", i, key, len(dst))
			}
		}
	}
	if err := errors.Join(command.Process.Kill(), v.Close()); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // killed
	return found
}

// checkAll adopts what a killed writer left and compares it.
func checkAll(t *testing.T, dir string, models []map[string]string, done []uint64) {
	t.Helper()
	a, tables, err := openAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, table := range tables {
		if err := table.Verify(); err != nil {
			t.Fatalf("namespace %d: %v", i, err)
		}
		n := table.Position() + 1
		batch, _ := batchOf(i, n)
		if err := table.Apply(batch, n); err != nil {
			t.Fatal(err)
		}
		for ; done[i] < n; done[i]++ {
			_, did := batchOf(i, done[i]+1)
			for key, value := range did {
				if models[i][key] = value; value == "" {
					delete(models[i], key)
				}
			}
		}
		got, err := content(table)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, models[i]) {
			t.Fatalf("namespace %d has %d entries after batch %d, want %d", i, len(got), n, len(models[i]))
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}
