// SPDX-License-Identifier: Apache-2.0

package localstate_test

// Tests of following a worker's heartbeats.

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

const newestBeat = int64(1796054962813)

func beat(secs int32) *storm.LSWorkerHeartbeat {
	return &storm.LSWorkerHeartbeat{TimeSecs: secs, TopologyID: "t", Executors: []*storm.ExecutorInfo{}, Port: 6700}
}

// writeBeat writes a heartbeat as a worker does. touched is the folder's time afterwards.
func writeBeat(t *testing.T, dir string, version int64, touched time.Time) {
	t.Helper()
	s, _ := newStore(t.TempDir(), at(version))
	must(t, s.Update(func(r *localstate.Records) error {
		return r.Put(localstate.KeyWorkerHeartbeat, beat(int32(version/1000))) //nolint:gosec // small numbers
	}))
	must(t, os.MkdirAll(dir, 0o755))
	for _, name := range names(t, s.Dir()) {
		must(t, os.Rename(filepath.Join(s.Dir(), name), filepath.Join(dir, name)))
	}
	must(t, os.Chtimes(dir, touched, touched))
}

func read(t *testing.T, r *localstate.HeartbeatReader) *localstate.Heartbeat {
	t.Helper()
	b, err := r.Read()
	if err != nil {
		t.Fatalf("Read(): %v", err)
	}
	return b
}

func TestHeartbeatReadsStock(t *testing.T) {
	t.Parallel()
	c := at(newestBeat + 2500)
	b := read(t, localstate.NewHeartbeatReader(stock(t, "heartbeats"), c.Now))
	if b.Version != newestBeat || b.TopologyID != stockTopology || b.Port != 26700 || len(b.Executors) != 4 || b.TimeSecs != 1796054962 {
		t.Errorf("Read() = %+v", b)
	}
	if age := c.Now().Sub(b.Seen); age != 2500*time.Millisecond {
		t.Errorf("age at the first look is %v", age)
	}
}

func TestHeartbeatFollows(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "heartbeats")
	c := at(10_000)
	r := localstate.NewHeartbeatReader(dir, c.Now)
	if b := read(t, r); b != nil {
		t.Fatalf("Read() of nothing = %+v", b)
	}
	must(t, os.Mkdir(dir, 0o755))
	if b := read(t, r); b != nil {
		t.Fatalf("Read() of an empty folder = %+v", b)
	}
	writeBeat(t, dir, 9_000, c.Now())
	first := read(t, r)
	if first.Version != 9_000 || !first.Seen.Equal(time.UnixMilli(9_000)) {
		t.Fatalf("Read() = %+v", first)
	}
	c.move(time.Second)
	if again := read(t, r); again != first {
		t.Errorf("unchanged: Read() = %+v", again)
	}
	writeBeat(t, dir, 10_900, c.Now())
	c.move(300 * time.Millisecond)
	second := read(t, r)
	if second.Version != 10_900 || !second.Seen.Equal(c.Now()) {
		t.Errorf("Read() = %+v", second)
	}
	// The wall clock goes back an hour: the age of what was seen must not change by that.
	c.move(-time.Hour)
	writeBeat(t, dir, 11_000, c.Now())
	if third := read(t, r); third.Version != 11_000 || !third.Seen.Equal(c.Now()) {
		t.Errorf("after the clock went back: Read() = %+v", third)
	}
}

// TestHeartbeatSameStamp writes within the clock tick of the folder's stamp: the reader must not trust the stamp then.
func TestHeartbeatSameStamp(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "heartbeats")
	c := at(10_000)
	stamp := c.Now()
	r := localstate.NewHeartbeatReader(dir, c.Now)
	writeBeat(t, dir, 10_000, stamp)
	c.move(20 * time.Millisecond)
	if b := read(t, r); b.Version != 10_000 {
		t.Fatalf("Read() = %+v", b)
	}
	writeBeat(t, dir, 10_001, stamp)
	if b := read(t, r); b.Version != 10_001 {
		t.Errorf("Read() = %+v", b)
	}
}

func TestHeartbeatDamage(t *testing.T) {
	t.Parallel()
	dir := stock(t, "heartbeats")
	next := strconv.FormatInt(newestBeat+1000, 10)
	write(t, filepath.Join(dir, next), "torn")
	write(t, filepath.Join(dir, next+".version"), "")
	c := at(newestBeat)
	r := localstate.NewHeartbeatReader(dir, c.Now)
	if b := read(t, r); b.Version != newestBeat {
		t.Errorf("Read() = %+v", b)
	}
	only := filepath.Join(t.TempDir(), "heartbeats")
	must(t, os.Mkdir(only, 0o755))
	write(t, filepath.Join(only, "5"), "torn")
	write(t, filepath.Join(only, "5.version"), "")
	r = localstate.NewHeartbeatReader(only, c.Now)
	b, err := r.Read()
	corrupt, ok := errors.AsType[*localstate.CorruptError](err)
	if !ok || len(corrupt.Faults) != 1 || b != nil {
		t.Fatalf("Read() = %v, %v", b, err)
	}
	writeBeat(t, only, 6, c.Now())
	if b := read(t, r); b.Version != 6 {
		t.Errorf("Read() = %+v", b)
	}
}

// TestHeartbeatRecordMissing reads local state that is no worker's.
func TestHeartbeatRecordMissing(t *testing.T) {
	t.Parallel()
	r := localstate.NewHeartbeatReader(stock(t, "localstate"), at(0).Now)
	if b, err := r.Read(); err == nil || b != nil {
		t.Errorf("Read() = %+v, %v", b, err)
	}
}

func BenchmarkHeartbeatChanged(b *testing.B) {
	dir := b.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/stock-2.8.3/heartbeats")); err != nil {
		b.Fatal(err)
	}
	for i := range int64(60) {
		for _, suffix := range []string{"", ".version"} {
			if err := os.WriteFile(filepath.Join(dir, strconv.FormatInt(i, 10)+suffix), nil, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	c := at(newestBeat)
	for b.Loop() {
		r := localstate.NewHeartbeatReader(dir, c.Now)
		if beat, err := r.Read(); err != nil || beat.Version != newestBeat {
			b.Fatal(beat, err)
		}
	}
}
