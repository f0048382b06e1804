// SPDX-License-Identifier: Apache-2.0

//go:build soak

// This file is the long run.

package soak

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/site"
)

const (
	supA = "supervisor-a"
	supB = "supervisor-b"

	// limit is until all is well again after a fault.
	limit = 2 * time.Minute
	// pause is how long a fault lasts.
	pause = 5 * time.Second
	// growth bounds a daemon's memory and open files.
	maxMemory, maxFiles = 128 << 20, 400
)

// flags are those of the test binary.
type flags struct {
	length *time.Duration
	seed   *uint64
}

var given = flags{ //nolint:gochecknoglobals // flags must be known before the tests run
	length: flag.Duration("soak.for", 10*time.Minute, "how long faults go on"),
	seed:   flag.Uint64("soak.seed", 0, "order of faults; 0 picks one and says which"),
}

// rig is the site under test.
type rig struct {
	*site.Site
	steady *site.Steady
	facts  site.Facts
	random *rand.Rand
	briefs int
}

// TestSoak shares one site and one topology over all rounds.
func TestSoak(t *testing.T) {
	seed := *given.seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-soak.seed=%d", seed)
	r := start(t, seed)
	faults := map[string]func(context.Context) error{
		"kill a worker": r.killWorker, "kill a daemon": r.killDaemon, "kill all": r.killAll, "lose a supervisor": r.loseSupervisor,
		"stop a daemon for a while": r.stopDaemon, "fill a disk": r.fillDisk, "submit and kill": r.submitAndKill, "nothing": r.nothing,
	}
	names := slices.Sorted(maps.Keys(faults))
	done := map[string]int{}
	for began := time.Now(); time.Since(began) < *given.length; {
		name := names[r.random.IntN(len(names))]
		t.Logf("%v: %s", time.Since(began).Round(time.Second), name)
		if err := r.round(t.Context(), faults[name]); err != nil {
			r.tails(t)
			t.Fatalf("%s (-soak.seed=%d, rounds so far %v): %v", name, seed, done, err)
		}
		done[name]++
	}
	tally, err := r.steady.Tally()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("rounds %v; %d numbers acked, %d sent again, %d arrived more than once", done, tally.Acked, len(tally.Failed), tally.Repeated())
}

// start brings the site and its topology up.
func start(t *testing.T, seed uint64) *rig {
	t.Helper()
	disks := map[string]string{}
	for daemon, size := range map[string]string{site.ZooKeeper: "128m", site.Nimbus: "64m", supA: "256m", supB: "256m"} {
		disks[daemon] = t.TempDir()
		unmount, err := site.MountDisk(disks[daemon], size)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := unmount(); err != nil {
				t.Error(err)
			}
		})
	}
	s, err := site.New(site.Options{
		Dir: t.TempDir(), Supervisors: map[string]string{supA: "localhost", supB: "127.0.0.2"}, Slots: 3, Local: disks,
		More: []string{"nimbus.cleanup.inbox.freq.secs: 10", "nimbus.inbox.jar.expiration.secs: 30", "nimbus.topology.blobstore.deletion.delay.ms: 5000"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{Site: s, steady: s.NewSteady("steady", 2), random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // repeatable
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	defer cancel()
	err = s.Start(ctx)
	if err == nil {
		err = r.steady.Submit(ctx)
	}
	if err == nil {
		err = r.steady.Flow(ctx, 50, limit)
	}
	if err == nil {
		r.facts, err = r.steady.Acknowledge(ctx)
	}
	if err != nil {
		r.tails(t)
		t.Fatal(err)
	}
	return r
}

// tails shows the ends of what the daemons wrote.
func (r *rig) tails(t *testing.T) {
	t.Helper()
	for _, name := range []string{site.ZooKeeper, site.Nimbus, supA, supB} {
		text, err := os.ReadFile(filepath.Join(r.Dir, name+".out"))
		t.Logf("end of %s (%v):\n%s", name, err, text[max(0, len(text)-8000):])
	}
}

// round does one fault and looks at what is left.
func (r *rig) round(ctx context.Context, fault func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*limit)
	defer cancel()
	if err := fault(ctx); err != nil {
		return err
	}
	// More than were on their way: what a dead worker held has been sent again.
	if err := r.steady.Flow(ctx, 400, limit); err != nil {
		return err
	}
	if _, err := r.steady.Await(ctx, limit); err != nil {
		return err
	}
	facts, err := r.Facts(ctx, r.steady.Name, site.UsersBlob)
	if err != nil {
		return err
	}
	if diff := gocmp.Diff(r.facts, facts); diff != "" {
		return fmt.Errorf("what was acknowledged (-want +got):\n%s", diff)
	}
	tally, err := r.steady.Tally()
	if err != nil {
		return err
	}
	return errors.Join(tally.Check(), r.size())
}

// size fails when a daemon has grown.
func (r *rig) size() error {
	var faults []error
	for _, name := range []string{site.ZooKeeper, site.Nimbus, supA, supB} {
		d := r.Daemon(name)
		pss, err := d.PSS()
		if err != nil {
			return err
		}
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", d.PID()))
		if err != nil {
			return err
		}
		if pss > maxMemory || len(files) > maxFiles {
			faults = append(faults, fmt.Errorf("%s has %d MiB and %d open files", name, pss>>20, len(files)))
		}
	}
	return errors.Join(faults...)
}

func (r *rig) nothing(ctx context.Context) error { return r.steady.Flow(ctx, 1000, limit) }

// some picks a daemon.
func (r *rig) some(names ...string) string {
	if len(names) == 0 {
		names = []string{site.ZooKeeper, site.Nimbus, supA, supB}
	}
	return names[r.random.IntN(len(names))]
}

// wait lets a fault last, unless the run ends.
func wait(ctx context.Context) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *rig) killWorker(context.Context) error {
	workers, err := r.WorkersOf(r.steady.ID)
	if err != nil || len(workers) == 0 {
		return err
	}
	return workers[r.random.IntN(len(workers))].Kill()
}

func (r *rig) killDaemon(ctx context.Context) error {
	name := r.some()
	r.Daemon(name).Kill()
	if err := wait(ctx); err != nil {
		return err
	}
	return r.StartDaemon(ctx, name)
}

func (r *rig) killAll(ctx context.Context) error {
	if err := r.Crash(); err != nil {
		return err
	}
	return r.Start(ctx)
}

// loseSupervisor is the loss of a machine, which comes back.
func (r *rig) loseSupervisor(ctx context.Context) error {
	name := r.some(supA, supB)
	workers, err := r.Workers()
	if err != nil {
		return err
	}
	r.Daemon(name).Kill()
	for _, w := range workers {
		if w.Supervisor == name {
			if err := w.Kill(); err != nil {
				return err
			}
		}
	}
	if err := r.steady.Flow(ctx, 400, limit); err != nil {
		return err
	}
	return r.StartDaemon(ctx, name)
}

// stopDaemon lets a daemon stand still, as a machine without air does.
func (r *rig) stopDaemon(ctx context.Context) error {
	pid := r.Daemon(r.some()).PID()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop %d: %w", pid, err)
	}
	err := wait(ctx)
	return errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
}

// fillDisk takes the room of one daemon away for a while.
func (r *rig) fillDisk(ctx context.Context) error {
	filler, err := site.Fill(r.LocalDir(r.some()))
	if err != nil {
		return err
	}
	err = wait(ctx)
	return errors.Join(err, os.Remove(filler))
}

func (r *rig) submitAndKill(ctx context.Context) error {
	r.briefs++
	brief := r.NewSteady(fmt.Sprintf("brief-%d", r.briefs), 1)
	if err := brief.SubmitLike(ctx, r.steady, nil); err != nil {
		return err
	}
	if r.random.IntN(2) == 0 { // else while its worker starts
		if err := brief.Flow(ctx, 10, limit); err != nil {
			return err
		}
	}
	if err := r.KillTopology(ctx, brief.Name); err != nil {
		return err
	}
	return harness.Await(ctx, "its worker to be gone", func() (bool, error) {
		left, err := r.WorkersOf(brief.ID)
		return len(left) == 0, err
	})
}
