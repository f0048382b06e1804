// SPDX-License-Identifier: Apache-2.0

package localstate_test

// Tests that Storm's LocalState and gust's Store understand each other.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/compat-tests/stockjava"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

func ask(t *testing.T, questions ...string) []string {
	t.Helper()
	lines := make([][]byte, len(questions))
	for i, q := range questions {
		lines[i] = []byte(q)
	}
	var answers []string
	for _, answer := range stockjava.Ask(t, "java", "LocalStateDriver", lines) {
		answers = append(answers, string(answer))
	}
	return answers
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(dir string) *localstate.Store { return localstate.New(dir, time.Now, zap.NewNop()) }

func ours(t *testing.T, s *localstate.Store) {
	t.Helper()
	heap, owner := 384.0, "ölaf"
	must(t, s.SetSupervisorID("gust-1"))
	must(t, s.ApproveWorker("w1", 6700))
	must(t, s.ApproveWorker("w2", 6701))
	must(t, s.SetLocalAssignments(map[int32]*storm.LocalAssignment{
		6700: {
			TopologyID: "wc-1-2", Executors: []*storm.ExecutorInfo{{TaskStart: 1, TaskEnd: 1}, {TaskStart: 2, TaskEnd: 5}},
			Resources: &storm.WorkerResources{MemOnHeap: &heap}, Owner: &owner,
		},
		6701: {TopologyID: "wc-1-2", Executors: []*storm.ExecutorInfo{}},
	}))
}

// TestStormReadsOursAndWritesForUsCompat lets the two take turns with one folder.
func TestStormReadsOursAndWritesForUsCompat(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "localstate")
	s := open(dir)
	ours(t, s)
	// A clock far ahead of ours wrote last: Storm must count on from there, and so must we.
	future := localstate.New(dir, func() time.Time { return time.Now().Add(time.Hour) }, zap.NewNop())
	must(t, future.ApproveWorker("w3", 6702))
	answers := ask(t, "read\t"+dir, "write\t"+dir+"\tone", "read\t"+dir)
	const assignments = "[6700 wc-1-2 1-1 2-5 heap=384.0 owner=ölaf][6701 wc-1-2 heap=null owner=null]"
	want := []string{
		"id=gust-1 workers={w1=6700, w2=6701, w3=6702} assignments=" + assignments + " beat=null",
		"ok",
		"id=java-one workers={java-one=6799, w1=6700, w2=6701, w3=6702} assignments=" + assignments +
			"[6799 java-one 4-9 heap=256.5 owner=ünal] beat=java-one@1700000000:6799",
	}
	for i := range want {
		if answers[i] != want[i] {
			t.Errorf("Storm says\n%s\nwant\n%s", answers[i], want[i])
		}
	}
	id, err := s.SupervisorID()
	if id != "java-one" || err != nil {
		t.Errorf("SupervisorID() = %q, %v", id, err)
	}
	workers, err := s.ApprovedWorkers()
	if len(workers) != 4 || workers["java-one"] != 6799 || err != nil {
		t.Errorf("ApprovedWorkers() = %v, %v", workers, err)
	}
	local, err := s.LocalAssignments()
	must(t, err)
	a := local[6799]
	if len(local) != 3 || a.TopologyID != "java-one" || a.Resources.GetMemOnHeap() != 256.5 || a.GetOwner() != "ünal" || a.Executors[0].TaskEnd != 9 {
		t.Errorf("LocalAssignments() = %v", local)
	}
	beat, err := localstate.NewHeartbeatReader(dir, time.Now).Read()
	if err != nil || beat.TopologyID != "java-one" || beat.TimeSecs != 1_700_000_000 || beat.Port != 6799 {
		t.Errorf("Read() = %+v, %v", beat, err)
	}
	// What we keep is what Storm keeps, and Storm still reads it after us.
	must(t, s.ForgetWorker("w1"))
	again := ask(t, "read\t"+dir)[0]
	if !strings.HasPrefix(again, "id=java-one workers={java-one=6799, w2=6701, w3=6702}") {
		t.Errorf("after our write Storm says %s", again)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 8 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
}
