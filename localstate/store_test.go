// SPDX-License-Identifier: Apache-2.0

package localstate_test

// Tests of the LocalState files: what stock wrote is read, and damage is survived.

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

const (
	stockWorker   = "db17749d-0b65-4b35-b07e-e9a33f798f01"
	stockTopology = "rig-1-1796054947"
)

func TestStoreReadsStock(t *testing.T) {
	t.Parallel()
	id, _ := newStore(stock(t, "isupervisor"), at(0))
	if got, err := id.SupervisorID(); err != nil || got != "2c3604cd-086c-4ab8-9121-a0b70a37fef4-127.0.0.1" {
		t.Errorf("SupervisorID() = %q, %v", got, err)
	}
	state, _ := newStore(stock(t, "localstate"), at(0))
	workers, err := state.ApprovedWorkers()
	if diff := cmp.Diff(map[string]int32{stockWorker: 26700}, workers); err != nil || diff != "" {
		t.Errorf("ApprovedWorkers() %v: %s", err, diff)
	}
	assignments, err := state.LocalAssignments()
	if err != nil || len(assignments) != 1 {
		t.Fatalf("LocalAssignments() = %v, %v", assignments, err)
	}
	a := assignments[26700]
	if a.TopologyID != stockTopology || len(a.Executors) != 3 || a.Resources.GetMemOnHeap() != 384 || a.GetOwner() != "root" {
		t.Errorf("assignment of 26700 is %+v", a)
	}
}

func TestStoreRoundTrip(t *testing.T) {
	t.Parallel()
	c := at(1000)
	s, _ := newStore(filepath.Join(t.TempDir(), "state"), c)
	if id, err := s.SupervisorID(); id != "" || err != nil {
		t.Fatalf("SupervisorID() of nothing = %q, %v", id, err)
	}
	must(t, s.SetSupervisorID("sup"))
	must(t, s.ApproveWorker("w1", 6700))
	must(t, s.ApproveWorker("w2", 6701))
	must(t, s.ApproveWorker("w3", 6700))
	must(t, s.ForgetWorker("w2"))
	must(t, s.ForgetWorker("never seen"))
	owner := "o"
	want := &storm.LocalAssignment{TopologyID: "t-1-2", Executors: []*storm.ExecutorInfo{{TaskStart: 1, TaskEnd: 3}}, Owner: &owner}
	must(t, s.SetLocalAssignment(6700, want))
	must(t, s.SetLocalAssignment(6701, want))
	must(t, s.SetLocalAssignment(6701, nil))
	again, logs := newStore(s.Dir(), c)
	id, err := again.SupervisorID()
	if id != "sup" || err != nil {
		t.Errorf("SupervisorID() = %q, %v", id, err)
	}
	workers, err := again.ApprovedWorkers()
	if diff := cmp.Diff(map[string]int32{"w3": 6700}, workers); err != nil || diff != "" {
		t.Errorf("ApprovedWorkers() %v: %s", err, diff)
	}
	assignments, err := again.LocalAssignments()
	if diff := cmp.Diff(map[int32]*storm.LocalAssignment{6700: want}, assignments); err != nil || diff != "" {
		t.Errorf("LocalAssignments() %v: %s", err, diff)
	}
	if logs.Len() != 0 {
		t.Errorf("a healthy store logged %v", logs.All())
	}
}

func TestStoreKeepsFourVersionsWithGrowingNumbers(t *testing.T) {
	t.Parallel()
	c := at(5000)
	s, _ := newStore(filepath.Join(t.TempDir(), "state"), c)
	for i := range 7 {
		must(t, s.SetSupervisorID(strconv.Itoa(i)))
		if i == 3 {
			c.move(-4 * time.Second) // a clock set back must not hide what is written next
		}
	}
	want := []string{"5003", "5003.version", "5004", "5004.version", "5005", "5005.version", "5006", "5006.version"}
	if diff := cmp.Diff(want, names(t, s.Dir())); diff != "" {
		t.Errorf("files: %s", diff)
	}
	if id, err := s.SupervisorID(); id != "6" || err != nil {
		t.Errorf("SupervisorID() = %q, %v", id, err)
	}
}

// TestStoreDamagedNewest puts every kind of damage beside two good versions; the newest good one must be used.
func TestStoreDamagedNewest(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(filepath.Join("testdata", "stock-2.8.3", "localstate", "1796054958211"))
	must(t, err)
	damage := map[string]string{"Empty": "", "Text": "hello, this is not thrift", "Trailing": string(good) + "x"}
	for i := 1; i < len(good); i++ {
		damage[fmt.Sprintf("TornAt%d", i)] = string(good[:i])
	}
	for i := range 4 { // a header that announces huge contents
		damage[fmt.Sprintf("Flipped%d", i)] = string(good[:5+i]) + "\x7f" + string(good[6+i:])
	}
	for name, content := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := stock(t, "localstate")
			write(t, filepath.Join(dir, "1796054959000"), content)
			write(t, filepath.Join(dir, "1796054959000.version"), "")
			s, logs := newStore(dir, at(0))
			workers, err := s.ApprovedWorkers()
			if err != nil || workers[stockWorker] != 26700 {
				t.Errorf("ApprovedWorkers() = %v, %v", workers, err)
			}
			if logs.FilterMessage("local state version passed over").Len() != 1 {
				t.Errorf("logs: %v", logs.All())
			}
			must(t, s.ForgetWorker(stockWorker))
			assignments, err := s.LocalAssignments()
			if err != nil || len(assignments) != 1 {
				t.Errorf("after a write: LocalAssignments() = %v, %v", assignments, err)
			}
		})
	}
}

func TestStoreIncompleteAndForeignFiles(t *testing.T) {
	t.Parallel()
	dir := stock(t, "localstate")
	write(t, filepath.Join(dir, "1796054960000"), "data without a token")
	write(t, filepath.Join(dir, "1796054970000.version"), "")
	write(t, filepath.Join(dir, "README"), "someone's note")
	write(t, filepath.Join(dir, "_tmp_1796054960001.x"), "left by a crash")
	must(t, os.Mkdir(filepath.Join(dir, "1796054980000"), 0o755))
	write(t, filepath.Join(dir, "1796054980000.version"), "")
	s, _ := newStore(dir, at(1796054990000))
	if workers, err := s.ApprovedWorkers(); err != nil || len(workers) != 1 {
		t.Errorf("ApprovedWorkers() = %v, %v", workers, err)
	}
	must(t, s.ApproveWorker("new", 26701))
	want := []string{
		"1796054958138", "1796054958138.version", "1796054958211", "1796054958211.version",
		"1796054980000", "1796054980000.version", "1796054990000", "1796054990000.version", "README",
	}
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Errorf("files after a write: %s", diff)
	}
}

func TestStoreNothingReadable(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	must(t, os.Mkdir(dir, 0o755))
	for _, v := range []string{"10", "20"} {
		write(t, filepath.Join(dir, v), "garbage")
		write(t, filepath.Join(dir, v+".version"), "")
	}
	s, _ := newStore(dir, at(0))
	_, err := s.ApprovedWorkers()
	corrupt, ok := errors.AsType[*localstate.CorruptError](err)
	if !ok || corrupt.Dir != dir || len(corrupt.Faults) != 2 {
		t.Fatalf("ApprovedWorkers() = %v", err)
	}
	for _, name := range []string{filepath.Join(dir, "10"), filepath.Join(dir, "20")} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("error does not name %s: %v", name, err)
		}
	}
	if err := s.SetSupervisorID("x"); !errors.As(err, &corrupt) {
		t.Errorf("a write over unreadable state: %v", err)
	}
	aside, err := s.SetAside()
	if err != nil || len(names(t, aside)) != 4 {
		t.Fatalf("SetAside() = %q, %v", aside, err)
	}
	must(t, s.SetSupervisorID("x"))
	if again, err := s.SetAside(); err != nil || again == aside {
		t.Errorf("second SetAside() = %q, %v", again, err)
	}
	if none, err := s.SetAside(); err != nil || none != "" {
		t.Errorf("SetAside() of nothing = %q, %v", none, err)
	}
}

func TestStoreOnlyEmptyFilesIsNoRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "10"), "")
	write(t, filepath.Join(dir, "10.version"), "")
	s, logs := newStore(dir, at(0))
	if workers, err := s.ApprovedWorkers(); err != nil || len(workers) != 0 || logs.Len() != 1 {
		t.Errorf("ApprovedWorkers() = %v, %v, logged %v", workers, err, logs.All())
	}
}

func TestStoreWrongClass(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t.TempDir(), at(0))
	must(t, s.Update(func(r *localstate.Records) error {
		return r.Put(localstate.KeySupervisorID, &storm.LSApprovedWorkers{ApprovedWorkers: map[string]int32{}})
	}))
	if _, err := s.SupervisorID(); err == nil || !strings.Contains(err.Error(), "LSApprovedWorkers") {
		t.Errorf("SupervisorID() of another record: %v", err)
	}
}

func TestStoreGreatestNumber(t *testing.T) {
	t.Parallel()
	dir := stock(t, "isupervisor")
	last := strconv.FormatInt(math.MaxInt64, 10)
	must(t, os.Rename(filepath.Join(dir, "1796054943964"), filepath.Join(dir, last)))
	must(t, os.Rename(filepath.Join(dir, "1796054943964.version"), filepath.Join(dir, last+".version")))
	s, _ := newStore(dir, at(0))
	if err := s.SetSupervisorID("x"); err == nil || !strings.Contains(err.Error(), last) {
		t.Errorf("SetSupervisorID() = %v", err)
	}
}

func TestStoreKeepsForeignRecords(t *testing.T) {
	t.Parallel()
	s, _ := newStore(stock(t, "localstate"), at(0))
	must(t, s.Update(func(r *localstate.Records) error {
		r.Remove(localstate.KeyApprovedWorkers)
		r.Remove("no such key")
		return r.Put(localstate.KeySupervisorID, &storm.LSSupervisorId{SupervisorID: "id"})
	}))
	assignments, err := s.LocalAssignments()
	if err != nil || len(assignments) != 1 {
		t.Errorf("LocalAssignments() = %v, %v", assignments, err)
	}
	if workers, err := s.ApprovedWorkers(); err != nil || len(workers) != 0 {
		t.Errorf("ApprovedWorkers() = %v, %v", workers, err)
	}
}

// TestStoreConcurrentReaders reads from a second store, as another process would, while versions come and go.
func TestStoreConcurrentReaders(t *testing.T) {
	t.Parallel()
	writer, _ := newStore(filepath.Join(t.TempDir(), "state"), at(1))
	must(t, writer.SetSupervisorID("0"))
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 3 {
		reader, _ := newStore(writer.Dir(), at(1))
		group.Go(func() {
			last := 0
			for {
				id, err := reader.SupervisorID()
				n, nerr := strconv.Atoi(id)
				if err != nil || nerr != nil || n < last {
					t.Errorf("SupervisorID() = %q, %v after %d", id, err, last)
					return
				}
				last = n
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 200 {
		must(t, writer.SetSupervisorID(strconv.Itoa(i)))
	}
	close(stop)
	group.Wait()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestStorePipesInPlaceOfFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s, logs := newStore(dir, at(10))
	must(t, s.SetSupervisorID("x"))
	must(t, syscall.Mkfifo(filepath.Join(dir, "20"), 0o600))
	write(t, filepath.Join(dir, "20.version"), "")
	if id, err := s.SupervisorID(); err != nil || id != "x" {
		t.Errorf("with a pipe as newest version: %q, %v", id, err)
	}
	passed := logs.FilterMessage("local state version passed over").All()
	if len(passed) == 0 || !strings.Contains(fmt.Sprint(passed[0].ContextMap()), filepath.Join(dir, "20")+" is a named pipe") {
		t.Errorf("logged: %v", passed)
	}
	must(t, os.RemoveAll(filepath.Join(dir, "10")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "10"), 0o600))
	if _, err := s.SupervisorID(); !errors.Is(err, regular.ErrNot) {
		t.Errorf("with nothing but pipes: %v", err)
	}
}
