// SPDX-License-Identifier: Apache-2.0

// This file kills daemons that are processes of their own, one by one and all at
// once, under one topology whose numbers are counted.

package faults

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/gust-stream/gust/compat-tests/site"
	"github.com/gust-stream/gust/thrift/leader"
)

// Supervisors of the site: A and C say that they are the same host.
const (
	supA = "supervisor-a"
	supB = "supervisor-b"
	supC = "supervisor-c"
)

// rig is a site with a topology that runs through all of a test.
type rig struct {
	*site.Site
	steady *site.Steady
	facts  site.Facts // what was acknowledged
}

// TestDaemons shares one site and one topology among faults; each leaves both whole.
func TestDaemons(t *testing.T) {
	disks := map[string]string{site.ZooKeeper: smallDisk(t, "24m"), site.Nimbus: smallDisk(t, "24m"), supB: smallDisk(t, "192m")}
	s := open(t, site.Options{
		Dir:         t.TempDir(),
		Supervisors: map[string]string{supA: "localhost", supB: "127.0.0.2", supC: "localhost"},
		Slots:       2,
		Local:       disks,
		MoreOf: map[string][]string{
			// So the loss of a supervisor is seen while somebody waits for the test.
			supA: {"storm.zookeeper.session.timeout: 6000"},
			supB: {"storm.zookeeper.session.timeout: 6000"},
			supC: {"storm.zookeeper.session.timeout: 6000"},
		},
	})
	for _, name := range []string{site.ZooKeeper, site.Nimbus, supA, supB} {
		check(t, s.StartDaemon(t.Context(), name))
	}
	r := &rig{Site: s, steady: s.NewSteady("steady", 2)}
	check(t, r.steady.Submit(t.Context()))
	_, err := r.steady.Await(t.Context(), jvmLimit)
	check(t, err)
	check(t, r.steady.Flow(t.Context(), 50, jvmLimit))
	r.acknowledge(t)

	for _, fault := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"SupervisorKilled", r.supervisorKilled},
		{"AdoptedWorkerKilled", r.adoptedWorkerKilled},
		{"NimbusKilled", r.nimbusKilled},
		{"StateKilled", r.stateKilled},
		{"ZnodeDamaged", r.znodeDamaged},
		{"StateDamaged", r.stateDamaged},
		{"LocalStateTorn", r.localStateTorn},
		{"BlobDamaged", r.blobDamaged},
		{"BlobDamagedMeanwhile", r.blobDamagedMeanwhile},
		{"KilledWhileWorkerStarts", r.killedWhileWorkerStarts},
		{"NimbusDiskFull", r.nimbusDiskFull},
		{"StateDiskFull", r.stateDiskFull},
		{"LocalStateDamaged", r.localStateDamaged},
		{"SupervisorDiskFull", r.supervisorDiskFull},
		{"SupervisorLostWithWorkers", r.supervisorLostWithWorkers},
		{"SupervisorDiesAgainAndAgain", r.supervisorDiesAgainAndAgain},
		{"AllKilled", r.allKilled},
	} {
		if !t.Run(fault.name, fault.run) {
			t.FailNow() // the site is not what the next one expects
		}
	}
}

// acknowledge makes gust acknowledge something of every kind.
func (r *rig) acknowledge(t *testing.T) {
	t.Helper()
	facts, err := r.steady.Acknowledge(t.Context())
	check(t, err)
	r.facts = facts
}

// whole fails unless everything acknowledged is still there, and counts are right.
func (r *rig) whole(t *testing.T) {
	t.Helper()
	facts, err := r.Facts(t.Context(), r.steady.Name, site.UsersBlob)
	check(t, err)
	same(t, "what was acknowledged", r.facts, facts)
	tally, err := r.steady.Tally()
	check(t, err)
	if err := tally.Check(); err != nil {
		t.Error(err)
	}
	t.Logf("%d numbers acked, %d starts of the spout, %d sent again, %d arrived more than once", tally.Acked, len(tally.Opens), len(tally.Failed), tally.Repeated())
}

// workers are the topology's workers, which must be whole.
func (r *rig) workers(t *testing.T) []site.Worker {
	t.Helper()
	workers, err := r.steady.Await(t.Context(), jvmLimit)
	check(t, err)
	return workers
}

// untouched runs a fault that no worker may notice: they keep their pids, numbers
// flow on meanwhile, and none is sent twice.
func (r *rig) untouched(t *testing.T, fault func()) {
	t.Helper()
	workers := r.workers(t)
	before, err := r.steady.Tally()
	check(t, err)
	fault()
	check(t, r.steady.Flow(t.Context(), 50, jvmLimit))
	same(t, "workers", workers, r.workers(t))
	after, err := r.steady.Tally()
	check(t, err)
	if len(after.Opens) != len(before.Opens) {
		t.Errorf("the spout was started again: %d times before, %d now", len(before.Opens), len(after.Opens))
	}
	r.whole(t)
}

// killed is kill -9 of a daemon, a while without it, and its start.
func (r *rig) killed(t *testing.T, daemon string) {
	t.Helper()
	r.Daemon(daemon).Kill()
	check(t, r.steady.Flow(t.Context(), 100, jvmLimit))
	check(t, r.StartDaemon(t.Context(), daemon))
}

func (r *rig) supervisorKilled(t *testing.T) {
	r.untouched(t, func() {
		r.Daemon(supA).Kill()
		// Workers of a supervisor that is gone for longer than its session go on and
		// count as alive: nothing is moved to where there is room.
		await(t, jvmLimit, "nimbus to miss the supervisor", func(ctx context.Context) (bool, error) {
			summary, err := r.Supervisor(ctx, supA)
			return summary == nil, err
		})
		check(t, r.steady.Flow(t.Context(), 600, jvmLimit))
		check(t, r.StartDaemon(t.Context(), supA))
	})
}

// adoptedWorkerKilled shows that the death of a worker that an earlier supervisor
// started is seen at once (stock: after 30 s without heartbeat), and so is that of
// one that has not sent its first heartbeat (stock: after 120 s).
func (r *rig) adoptedWorkerKilled(t *testing.T) {
	adopted := r.workersOn(t, supA)
	if len(adopted) == 0 {
		t.Fatalf("no worker runs under %s", supA)
	}
	victim := adopted[0]
	check(t, victim.Kill())
	second := r.successor(t, victim)
	if beats, err := second.Beats(); err != nil || beats {
		t.Fatalf("worker %d beats already (%v); it was to die before", second.PID, err)
	}
	check(t, second.Kill())
	third := r.successor(t, second)
	t.Logf("worker %d, then %d, then %d", victim.PID, second.PID, third.PID)
	check(t, r.steady.Flow(t.Context(), 600, lostLimit))
	r.whole(t)
}

// successor waits for the worker that takes a dead one's port.
func (r *rig) successor(t *testing.T, dead site.Worker) (next site.Worker) {
	t.Helper()
	began := time.Now()
	await(t, atOnce, "a worker in place of the dead one", func(context.Context) (bool, error) {
		workers, err := r.WorkersOf(dead.Topology)
		for _, w := range workers {
			if w.Port == dead.Port && w.PID != dead.PID {
				next = w
			}
		}
		return next.PID != 0, err
	})
	t.Logf("worker %d replaced after %v", dead.PID, time.Since(began).Round(10*time.Millisecond))
	return next
}

// workersOn are the topology's workers under one supervisor.
func (r *rig) workersOn(t *testing.T, supervisor string) (found []site.Worker) {
	t.Helper()
	for _, w := range r.workers(t) {
		if w.Supervisor == supervisor {
			found = append(found, w)
		}
	}
	return found
}

func (r *rig) nimbusKilled(t *testing.T) { r.untouched(t, func() { r.killed(t, site.Nimbus) }) }

func (r *rig) stateKilled(t *testing.T) {
	r.untouched(t, func() {
		r.killed(t, site.ZooKeeper)
		// Everybody's session goes on: nobody is missed.
		info, err := r.Info(t.Context())
		check(t, err)
		if len(info.Supervisors) != 2 {
			t.Errorf("%d supervisors are listed, not 2", len(info.Supervisors))
		}
	})
}

// znodeDamaged puts what nobody can read where Nimbus and supervisors read at
// their start: they name it and go on with the rest.
func (r *rig) znodeDamaged(t *testing.T) {
	const junk = "junk-1-1"
	nodes := []string{"/storm/storms/" + junk, "/storm/assignments/" + junk, "/storm/credentials/" + junk, "/storm/supervisors/" + junk}
	conn, _, err := zk.Connect([]string{fmt.Sprintf("localhost:%d", r.ZooKeeperPort)}, 10*time.Second, zk.WithLogger(quiet{}))
	check(t, err)
	defer conn.Close()
	for _, node := range nodes {
		_, err := conn.Create(node, []byte("no Thrift struct and no gzip either"), 0, zk.WorldACL(zk.PermAll))
		check(t, err)
		defer func() {
			if err := conn.Delete(node, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
				t.Error(err)
			}
		}()
	}
	r.untouched(t, func() {
		r.killed(t, site.Nimbus)
		r.killed(t, supA)
		contains(t, "nimbus", r.Daemon(site.Nimbus).Output(), junk)
	})
}

// quiet is a ZooKeeper client's logger that drops all.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// killedWhileWorkerStarts kills a topology while its worker starts, which halts
// stock's supervisor.
func (r *rig) killedWhileWorkerStarts(t *testing.T) {
	r.untouched(t, func() {
		before := []int{r.Daemon(supA).PID(), r.Daemon(supB).PID()}
		brief := r.NewSteady("brief", 1)
		check(t, brief.SubmitLike(t.Context(), r.steady, nil))
		workers, err := brief.Await(t.Context(), jvmLimit)
		check(t, err)
		if beats, err := workers[0].Beats(); err != nil || beats {
			t.Fatalf("worker beats already (%v); the topology was to end before", err)
		}
		check(t, r.KillTopology(t.Context(), brief.Name))
		await(t, atOnce, "the starting worker to be gone", func(context.Context) (bool, error) {
			left, err := r.WorkersOf(brief.ID)
			return len(left) == 0, err
		})
		for _, name := range []string{supA, supB} {
			check(t, r.Daemon(name).Ended())
		}
		same(t, "supervisors", before, []int{r.Daemon(supA).PID(), r.Daemon(supB).PID()})
		// The slot can be used again.
		check(t, brief.SubmitLike(t.Context(), r.steady, nil))
		check(t, brief.Flow(t.Context(), 10, jvmLimit))
		check(t, r.KillTopology(t.Context(), brief.Name))
	})
}

// supervisorLostWithWorkers is the loss of a machine: its work moves to the other.
func (r *rig) supervisorLostWithWorkers(t *testing.T) {
	lost := r.workersOn(t, supA)
	if len(lost) == 0 {
		t.Fatalf("no worker runs under %s", supA)
	}
	r.Daemon(supA).Kill()
	for _, w := range lost {
		check(t, w.Kill())
	}
	await(t, lostLimit, "all work to be on the other supervisor", func(context.Context) (bool, error) {
		workers, err := r.WorkersOf(r.steady.ID)
		for _, w := range workers {
			if w.Supervisor != supB {
				return false, err
			}
		}
		return len(workers) == r.steady.Workers, err
	})
	check(t, r.steady.Flow(t.Context(), 600, lostLimit))
	check(t, r.StartDaemon(t.Context(), supA))
	check(t, r.steady.Flow(t.Context(), 50, jvmLimit))
	r.whole(t)
}

// supervisorDiesAgainAndAgain kills a supervisor three times. Stock then takes
// every supervisor that says it is the same host out of use, with their slots.
func (r *rig) supervisorDiesAgainAndAgain(t *testing.T) {
	r.untouched(t, func() {
		check(t, r.StartDaemon(t.Context(), supC))
		for range 3 {
			r.Daemon(supC).Kill()
			await(t, jvmLimit, "nimbus to miss the supervisor", func(ctx context.Context) (bool, error) {
				summary, err := r.Supervisor(ctx, supC)
				return summary == nil, err
			})
			check(t, r.StartDaemon(t.Context(), supC))
		}
		for _, name := range []string{supA, supB} {
			summary, err := r.Supervisor(t.Context(), name)
			check(t, err)
			if summary == nil || summary.GetBlacklisted() {
				t.Errorf("%s is not in use although another died: %v", name, summary)
			}
		}
		// All slots of the site can be used, those of the one that died too: nothing
		// is kept out while work waits.
		brief := r.NewSteady("brief", 4)
		check(t, brief.SubmitLike(t.Context(), r.steady, nil))
		await(t, jvmLimit, "four more workers", func(context.Context) (bool, error) {
			assigned, err := r.assigned(t.Context(), brief.ID)
			return assigned == 4, err
		})
		check(t, r.KillTopology(t.Context(), brief.Name))
		await(t, jvmLimit, "their end", func(context.Context) (bool, error) {
			left, err := r.WorkersOf(brief.ID)
			return len(left) == 0, err
		})
		r.Daemon(supC).Stop()
	})
}

// assigned is the number of slots that a topology was given.
func (r *rig) assigned(ctx context.Context, id string) (workers int32, err error) {
	err = r.Ask(ctx, func(ctx context.Context, nimbus *leader.Nimbus) error {
		summary, err := nimbus.GetTopologySummary(ctx, id)
		if err == nil {
			workers = summary.NumWorkers
		}
		return err
	})
	return workers, err
}

// allKilled is a power cut as far as processes go.
func (r *rig) allKilled(t *testing.T) {
	before := r.workers(t)
	check(t, r.Crash())
	for _, name := range []string{site.ZooKeeper, site.Nimbus, supA, supB} {
		check(t, r.StartDaemon(t.Context(), name))
	}
	_, err := r.steady.Await(t.Context(), jvmLimit, before...)
	check(t, err)
	check(t, r.steady.Flow(t.Context(), 600, lostLimit))
	r.whole(t)
}
