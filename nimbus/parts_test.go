// SPDX-License-Identifier: Apache-2.0

package nimbus

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/openfiles"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/nimbus/lifecycle"
	"github.com/gust-stream/gust/nimbus/scheduler"
	"github.com/gust-stream/gust/thrift/storm"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	start := time.Now()
	var dropped []string
	s := newSessions(time.Minute, 2, nil, func(v string) { dropped = append(dropped, v) })
	for i, key := range []string{"first", "a", "b"} {
		s.open(key, key, start.Add(time.Duration(i-2)*time.Second))
	}
	if diff := cmp.Diff([]string{"first"}, dropped); diff != "" || len(s.byKey) != 2 {
		t.Errorf("the third session, where two may be open, dropped (-want +have):\n%s", diff)
	}
	dropped = nil
	if err := s.use("a", start.Add(50*time.Second), func(*string) error { return nil }); err != nil {
		t.Error(err)
	}
	s.expire(start.Add(time.Minute))
	if diff := cmp.Diff([]string{"b"}, dropped); diff != "" {
		t.Errorf("expired (-want +have):\n%s", diff)
	}
	if err := s.use("b", start, func(*string) error { return nil }); !errors.Is(err, errNoSession) {
		t.Errorf("use of an expired session says %v", err)
	}
	if v, err := s.end("a"); err != nil || v != "a" {
		t.Errorf("end says %q, %v", v, err)
	}
	if _, err := s.end("a"); !errors.Is(err, errNoSession) {
		t.Errorf("second end says %v", err)
	}
}

// TestSessionsShareFiles has tables with room for many transfers and a process that may open few files.
func TestSessionsShareFiles(t *testing.T) {
	t.Parallel()
	files := openfiles.New(16) // four are held back, one is each table's own
	now := time.Now()
	var dropped []string
	table := func() *sessions[string] {
		return newSessions(time.Minute, 100, files.Share(), func(v string) { dropped = append(dropped, v) })
	}
	greedy, other := table(), table()
	for i := range 20 {
		greedy.open(strconv.Itoa(i), strconv.Itoa(i), now.Add(time.Duration(i)))
	}
	if len(greedy.byKey) != 11 || len(dropped) != 9 || dropped[0] != "0" {
		t.Errorf("%d transfers are open, dropped are %v", len(greedy.byKey), dropped)
	}
	dropped = nil
	other.open("a", "a", now)
	other.open("b", "b", now)
	if diff := cmp.Diff([]string{"a"}, dropped); diff != "" {
		t.Errorf("the other table dropped (-want +have):\n%s", diff)
	}
	greedy.close()
	if _, err := other.end("b"); err != nil {
		t.Error(err)
	}
	dropped = nil
	for i := range 11 {
		other.open(strconv.Itoa(i), strconv.Itoa(i), now)
	}
	if len(dropped) > 0 {
		t.Errorf("files that were given back are missing: dropped %v", dropped)
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var d delays
	if _, ok := d.next(now); ok {
		t.Errorf("an event waits in an empty list")
	}
	for i, secs := range []int{5, 1, 3, 1} {
		d.add(delayedEvent{at: now.Add(time.Duration(secs) * time.Second), id: string(rune('a' + i)), event: lifecycle.Remove})
	}
	if wait, ok := d.next(now); !ok || wait != time.Second {
		t.Errorf("next event in %v, %v", wait, ok)
	}
	var ids []string
	for _, e := range d.due(now.Add(3 * time.Second)) {
		ids = append(ids, e.id)
	}
	if diff := cmp.Diff([]string{"b", "d", "c"}, ids); diff != "" {
		t.Errorf("due events (-want +have):\n%s", diff)
	}
	if wait, ok := d.next(now.Add(time.Hour)); !ok || wait != 0 {
		t.Errorf("an overdue event is due in %v, %v", wait, ok)
	}
}

func TestStartTimes(t *testing.T) {
	t.Parallel()
	e := func(n int64) storm.ExecutorID { return storm.ExecutorID{n, n} }
	slot := func(port int64) slotKey { return slotKey{node: "n", port: port} }
	topo := oneWorker(time.Now())
	old := storm.NewAssignment()
	for id, port := range map[int64]int64{1: 1, 2: 1, 3: 2, 4: 3, 9: 4} {
		old.ExecutorNodePort[e(id)] = slot(port).info()
		old.ExecutorStartTimeSecs[e(id)] = 100
	}
	old.NodeHost["n"] = "old-host"
	topo.assignment = old
	p := placement{
		topology: topo, host: func(string) string { return "" }, dir: "/d", now: 200,
		// 1 and 2 stay together; 3 gets company on its slot; 4 moves there; 9 is gone.
		slots: map[storm.ExecutorID]slotKey{e(1): slot(1), e(2): slot(1), e(3): slot(2), e(4): slot(2)},
	}
	next := p.assignment()
	want := map[storm.ExecutorID]int64{e(1): 100, e(2): 100, e(3): 200, e(4): 200, e(9): 100}
	if diff := cmp.Diff(want, next.ExecutorStartTimeSecs); diff != "" {
		t.Errorf("start times (-want +have):\n%s", diff)
	}
	if next.NodeHost["n"] != "old-host" || next.MasterCodeDir != "/d" || len(next.WorkerResources) != 2 {
		t.Errorf("assignment is %v", next)
	}
	p.afresh = true
	for id, at := range p.assignment().ExecutorStartTimeSecs {
		if at != 200 {
			t.Errorf("after a rebalance executor %v keeps its start time", id)
		}
	}
	if got := changedNodes(old, next); !got["n"] {
		t.Errorf("changed nodes are %v", got)
	}
	if got := changedNodes(next, next); len(got) != 0 {
		t.Errorf("without a change the changed nodes are %v", got)
	}
}

func TestLostExecutorsStayWithoutRoom(t *testing.T) {
	t.Parallel()
	topo := oneWorker(time.Now())
	out := scheduler.Outcome{Unplaced: []scheduler.Executor{{Start: 1, End: 1}}}
	if got := slotsOf(topo, out, map[string]bool{"sup-1": true}); got[storm.ExecutorID{1, 1}] != (slotKey{"sup-1", 6700}) {
		t.Errorf("slots are %v", got)
	}
	if got := slotsOf(topo, out, nil); len(got) != 0 {
		t.Errorf("a dead executor of a living supervisor keeps its slot: %v", got)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "history")
	h := newHistory(dir, zap.NewNop())
	now := time.Now()
	for i, id := range []string{"a", "b", "c", "d", "e", "f"} {
		entry := &storm.LSTopoHistory{TopologyID: id, TimeStamp: now.Unix() - int64(600-100*i), Users: []string{}, Groups: []string{}}
		if err := h.add(entry); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.expire(450*time.Second, now); err != nil {
		t.Fatal(err)
	}
	again := newHistory(dir, zap.NewNop())
	if err := again.load(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c", "d", "e", "f"}, again.ids()); diff != "" {
		t.Errorf("history (-want +have):\n%s", diff)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info, err)
	}
}

func TestDamagedHistory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "history")
	h := newHistory(dir, zap.NewNop())
	for _, id := range []string{"a", "b"} {
		if err := h.add(&storm.LSTopoHistory{TopologyID: id, TimeStamp: 1, Users: []string{}, Groups: []string{}}); err != nil {
			t.Fatal(err)
		}
	}
	marks, err := filepath.Glob(filepath.Join(dir, "*"+localstate.VersionSuffix))
	if err != nil || len(marks) != 2 {
		t.Fatalf("%v, %v", marks, err)
	}
	damage := func(mark string, content ...byte) {
		if err := os.WriteFile(strings.TrimSuffix(mark, localstate.VersionSuffix), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, content := range [][]byte{nil, {1, 2, 3}} {
		damage(slices.Max(marks), content...)
		again := newHistory(dir, zap.NewNop())
		if err := again.load(); err != nil || !slices.Equal(again.ids(), []string{"a"}) {
			t.Errorf("with a newest file of %d bytes the history is %v, %v", len(content), again.ids(), err)
		}
	}
	damage(slices.Min(marks), 1, 2, 3)
	again := newHistory(dir, zap.NewNop())
	if err := again.load(); err == nil || !strings.Contains(err.Error(), dir+"-unreadable-") {
		t.Errorf("a damaged history was read: %v, %v", again.ids(), err)
	}
	if err := again.add(&storm.LSTopoHistory{TopologyID: "c", TimeStamp: 1, Users: []string{}, Groups: []string{}}); err != nil {
		t.Errorf("no new history is begun: %v", err)
	}
}

func TestInboxIsCleaned(t *testing.T) {
	t.Parallel()
	box := inbox{dir: filepath.Join(t.TempDir(), "inbox")}
	if n, err := box.clean(time.Hour, time.Now()); n != 0 || err != nil {
		t.Errorf("cleaning no inbox says %d, %v", n, err)
	}
	file, err := box.create()
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file.Name())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("an uploaded file has the mode %v, %v", info.Mode(), err)
	}
	if n, err := box.clean(time.Hour, time.Now()); n != 0 || err != nil {
		t.Errorf("a new file went: %d, %v", n, err)
	}
	if n, err := box.clean(time.Hour, time.Now().Add(2*time.Hour)); n != 1 || err != nil {
		t.Errorf("an old file stayed: %d, %v", n, err)
	}
}

func TestSavedConf(t *testing.T) {
	t.Parallel()
	nimbus := config.Conf{
		"storm.local.hostname": "nimbus-host", "storm.zookeeper.superACL": nil, "a.key": "of nimbus", "topology.workers": int64(1),
		"storm.workers.artifacts.dir": "of nimbus",
	}
	submitted := config.Conf{
		"storm.local.hostname": "mine", "storm.zookeeper.superACL": "mine", "storm.zookeeper.topology.auth.scheme": "digest",
		"storm.zookeeper.topology.auth.payload": "p", "topology.submitter.user": "root", "topology.classpath.beginning": "/x",
		"storm.workers.artifacts.dir": "mine", "storm.id": "mine", "topology.workers": nil, "own": "x",
	}
	topo := &storm.StormTopology{}
	saved, err := savedConf(nimbus, submitted, topo, submission{id: "wc-1-2", name: "wc", owner: "me"})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Conf{
		"storm.zookeeper.superACL": nil, "a.key": "of nimbus", "topology.workers": nil, "storm.workers.artifacts.dir": "of nimbus",
		"topology.submitter.user": "me", "topology.submitter.principal": "", "topology.users": []any{nil}, "storm.id": "wc-1-2",
		"topology.name": "wc", "own": "x",
	}
	for key, value := range want {
		if have, there := saved[key]; !there || cmp.Diff(value, have) != "" {
			t.Errorf("%s is %v, want %v", key, have, value)
		}
	}
	for _, key := range []string{
		"storm.local.hostname", "storm.zookeeper.topology.auth.scheme", "storm.zookeeper.topology.auth.payload", "topology.classpath.beginning",
	} {
		if have, there := saved[key]; there {
			t.Errorf("%s is %v, it should not be there", key, have)
		}
	}
	if submitted["storm.id"] != "mine" || nimbus["storm.local.hostname"] != "nimbus-host" {
		t.Errorf("an argument was changed")
	}
}

// While nothing is known, a supervisor that asks must not be told to run nothing.
func TestNoAssignmentsBeforeAnythingIsKnown(t *testing.T) {
	t.Parallel()
	n := &Nimbus{model: newModel(), live: newLiveness(time.Now()), now: time.Now}
	if set, err := n.GetSupervisorAssignments(t.Context(), "sup-1"); set != nil || err != nil {
		t.Errorf("the answer is %v, %v", set, err)
	}
	if _, err := n.IsTopologyNameAllowed(t.Context(), "wc"); !errors.Is(err, errNotReady) {
		t.Errorf("a name is judged: %v", err)
	}
}
