// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/stateapi"
)

// written makes a journal of small records, of which the first n are synced, and returns their bodies and positions.
func written(t *testing.T, n, m int) (dir string, bodies []string, positions []uint64) {
	t.Helper()
	dir = t.TempDir()
	j := open(t, dir, Options{})
	for i := range n + m {
		bodies = append(bodies, fmt.Sprint("record ", i, strings.Repeat(".", i%7)))
		start, _, err := j.Append(uint64(i+1), []byte(bodies[i]))
		if err != nil {
			t.Fatal(err)
		}
		positions = append(positions, start)
		if i+1 <= n {
			flush(t, j)
		}
	}
	positions = append(positions, j.End())
	crashed := clone(t, dir)
	closed(t, j)
	return crashed, bodies, positions
}

// TestTornTail cuts the tail at every byte, in three ways: the file ends, zeros follow, something else follows.
func TestTornTail(t *testing.T) {
	t.Parallel()
	const durable, loose = 4, 4
	dir, bodies, positions := written(t, durable, loose)
	content, err := os.ReadFile(last(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	end := positions[len(positions)-1]
	for cut := positions[durable]; cut <= end; cut++ {
		whole := durable
		for positions[whole+1] <= cut {
			if whole++; whole == durable+loose {
				break
			}
		}
		for _, fill := range []string{"", "\x00", "\xa5"} {
			torn := append([]byte{}, content[:cut+headerSize]...)
			torn = append(torn, strings.Repeat(fill, int(end-cut))...)
			if err := os.WriteFile(last(t, dir), torn, 0o600); err != nil {
				t.Fatal(err)
			}
			j := open(t, dir, Options{})
			got, damage := read(t, j, 0)
			// The trailing head alone may be lost: the record is whole without it.
			most := whole
			if whole < durable+loose && cut+headSize >= positions[whole+1] {
				most++
			}
			if len(got) < whole || len(got) > most || cmp.Diff(bodies[:len(got)], got) != "" || damage != nil {
				t.Fatalf("cut at %d, then %q: %d records, want %d; %v", cut, fill, len(got), whole, damage)
			}
			add(t, j, 9, "new")
			flush(t, j)
			closed(t, j)
			j = open(t, dir, Options{})
			if again, damage := read(t, j, 0); cmp.Diff(append(got, "new"), again) != "" || damage != nil {
				t.Fatalf("cut at %d, then %q: after an append %q, %v", cut, fill, again, damage)
			}
			closed(t, j)
			if err := os.WriteFile(filepath.Join(dir, markName), newMark(positions[durable]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestFlippedByte flips every byte of what was durable: all records but the one are there, and that one is there too or named.
func TestFlippedByte(t *testing.T) {
	t.Parallel()
	const durable = 6
	dir, bodies, positions := written(t, durable, 0)
	path := last(t, dir)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range positions[durable] + headerSize {
		flipped := append([]byte{}, content...)
		flipped[at] ^= 0x41
		if err := os.WriteFile(path, flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := Open(dir, Options{}, zap.NewNop())
		if err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
		got, damage := read(t, j, 0)
		hit := 0
		for at >= headerSize && hit+1 < durable && positions[hit+1] <= at-headerSize {
			hit++
		}
		body := positions[hit] + headSize + headerSize
		if at < body || at >= body+uint64(len(bodies[hit])) { // a head has a twin
			if cmp.Diff(bodies, got) != "" || damage != nil {
				t.Fatalf("byte %d, in a head: %q, %v", at, got, damage)
			}
			closed(t, j)
			continue
		}
		want := append(append([]string{}, bodies[:hit]...), bodies[hit+1:]...)
		if cmp.Diff(want, got) != "" || len(damage) != 1 {
			t.Fatalf("byte %d: %q, %v", at, got, damage)
		}
		d := damage[0]
		if !errors.Is(d, stateapi.ErrCorrupt) || d.Start != positions[hit] || d.End != positions[hit+1] || !d.Known || d.Tag != uint64(hit+1) {
			t.Fatalf("byte %d: %+v", at, d)
		}
		if text := d.Error(); !strings.Contains(text, path) || !strings.Contains(text, fmt.Sprint("offset ", d.Offset)) ||
			d.Offset != int64(d.Start)+headerSize {
			t.Fatal(text)
		}
		closed(t, j)
	}
}

// TestDamageBeforeTheMarkIsNoTail takes away the mark too: the records behind say that the damaged one had been durable.
func TestDamageWithoutMark(t *testing.T) {
	t.Parallel()
	dir, bodies, positions := written(t, 5, 0)
	content, err := os.ReadFile(last(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	content[positions[2]+headerSize+headSize] ^= 1
	if err := errors.Join(os.WriteFile(last(t, dir), content, 0o600), os.Remove(filepath.Join(dir, markName))); err != nil {
		t.Fatal(err)
	}
	j := open(t, dir, Options{})
	got, damage := read(t, j, 0)
	if cmp.Diff(append(append([]string{}, bodies[:2]...), bodies[3:]...), got) != "" || len(damage) != 1 || damage[0].Tag != 3 {
		t.Fatal(got, damage)
	}
}

// TestLostPage zeroes a whole stretch: nobody can say whose records it was, and reading goes on behind it.
func TestLostPage(t *testing.T) {
	t.Parallel()
	dir, bodies, positions := written(t, 8, 0)
	content, err := os.ReadFile(last(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	clear(content[positions[2]+headerSize+10 : positions[5]+headerSize+45])
	if err := os.WriteFile(last(t, dir), content, 0o600); err != nil {
		t.Fatal(err)
	}
	j := open(t, dir, Options{})
	got, damage := read(t, j, 0)
	if cmp.Diff(append(append([]string{}, bodies[:2]...), bodies[6:]...), got) != "" || len(damage) != 2 {
		t.Fatal(got, damage)
	}
	if d := damage[0]; d.Start != positions[2] || d.End != positions[5] || d.Known {
		t.Fatalf("%+v", d)
	}
	if d := damage[1]; d.Start != positions[5] || d.End != positions[6] || !d.Known || d.Tag != 6 {
		t.Fatalf("%+v", d)
	}
}

// TestShortenedFile cuts what had been durable: it is missed, not forgotten, and its positions are not used again.
func TestShortenedFile(t *testing.T) {
	t.Parallel()
	for cut := range uint64(40) {
		dir, bodies, positions := written(t, 4, 0)
		if err := os.Truncate(last(t, dir), int64(positions[3]+headerSize+cut)); err != nil {
			t.Fatal(err)
		}
		j := open(t, dir, Options{})
		got, damage := read(t, j, 0)
		if cmp.Diff(bodies[:3], got) != "" || len(damage) != 1 || damage[0].Start != positions[3] || damage[0].End != positions[4] {
			t.Fatal(cut, got, damage)
		}
		add(t, j, 1, "new")
		closed(t, j)
		j = open(t, dir, Options{})
		got, damage = read(t, j, 0)
		if cmp.Diff(append(bodies[:3:3], "new"), got) != "" || len(damage) != 1 {
			t.Fatal(cut, got, damage)
		}
	}
}

// TestOtherVersion refuses, and leaves the files alone.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	dir, _, _ := written(t, 1, 0)
	f, err := os.OpenFile(last(t, dir), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	header := newHeader(0)
	header[8] = 2
	sum := checksum(header[:60])
	copy(header[60:], []byte{byte(sum), byte(sum >> 8), byte(sum >> 16), byte(sum >> 24)})
	_, err = f.WriteAt(header, 0)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(last(t, dir))
	_, err = Open(dir, Options{}, zap.NewNop())
	if err == nil || errors.Is(err, stateapi.ErrCorrupt) || !strings.Contains(err.Error(), "version 2") || !strings.Contains(err.Error(), last(t, dir)) {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(last(t, dir)); !bytes.Equal(before, after) {
		t.Fatal("the file has changed")
	}
}

// TestMissingFile takes away one in the middle.
func TestMissingFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir, Options{FileSize: 200})
	for range 20 {
		add(t, j, 1, strings.Repeat("m", 100))
		flush(t, j)
		j.making.Wait()
	}
	closed(t, j)
	if err := os.Remove(filepath.Join(dir, fileName(3))); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}, zap.NewNop()); !errors.Is(err, stateapi.ErrCorrupt) || !strings.Contains(err.Error(), fileName(2)) {
		t.Fatal(err)
	}
}

// TestKillNine kills a process that appends: whatever it said was durable is there, in order.
func TestKillNine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	acked := 0
	for round := range 5 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; n < 100+round && lines.Scan(); n++ {
			if _, err := fmt.Sscan(lines.Text(), &acked); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Process.Kill()
		for lines.Scan() {
			if _, err := fmt.Sscan(lines.Text(), &acked); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Wait()
		j := open(t, dir, Options{FileSize: 16 << 10})
		n := 0
		for record, err := range j.Read(0) {
			n++
			if err != nil || !strings.HasPrefix(string(record.Body), fmt.Sprint(n, " ")) {
				t.Fatalf("record %d: %.20q, %v", n, record.Body, err)
			}
		}
		if n < acked || acked < 100 {
			t.Fatalf("%d were acknowledged, %d are there", acked, n)
		}
		closed(t, j)
	}
}

// FuzzOpen opens and reads what nobody wrote.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	j := open(f, dir, Options{})
	for i := range 3 {
		add(f, j, uint64(i), strings.Repeat("z", i*20))
	}
	flush(f, j)
	closed(f, j)
	content, err := os.ReadFile(filepath.Join(dir, fileName(1)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content, newMark(100))
	f.Add(content[:100], []byte{})
	f.Add(newHeader(unbegun), newMark(1))
	f.Fuzz(func(t *testing.T, content, mark []byte) {
		dir := t.TempDir()
		err := errors.Join(os.WriteFile(filepath.Join(dir, fileName(1)), content, 0o600), os.WriteFile(filepath.Join(dir, markName), mark, 0o600))
		if err != nil {
			t.Fatal(err)
		}
		j, err := Open(dir, Options{}, zap.NewNop())
		if err != nil {
			return
		}
		for _, err := range j.Read(0) {
			if _, ok := errors.AsType[*DamageError](err); err != nil && !ok {
				t.Fatal(err)
			}
		}
		if err := j.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
}
