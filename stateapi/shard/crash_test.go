// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// child checks what an earlier process left, goes on from there, and prints every round that is committed.
func child(dir string, anew bool) error {
	r, err := run(Config{Dir: dir + "/disk", ArenaDir: dir + "/memory", NewArena: anew, SnapshotBytes: 64 << 10})
	if err != nil {
		return err
	}
	var failed sync.Map
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			if err := write(r.Store, i); err != nil {
				failed.Store(i, err)
				fmt.Fprintf(os.Stdout, "failed %v\n", err)
			}
		})
	}
	all.Wait()
	return errors.New("all have failed")
}

// write makes rounds for ever: those of an odd number in two steps, and of those some only after a rollback.
func write(s *Store, i int) error {
	ctx := context.Background()
	o, err := s.Open(ctx, definition(fmt.Sprint("bolt", i)), 0)
	if err != nil {
		return err
	}
	n, err := check(s, o.Session)
	if err != nil {
		return err
	}
	if o.Prepared && o.TxID <= int64(n) {
		return fmt.Errorf("%d is still prepared after round %d", o.TxID, n)
	}
	fmt.Fprintf(os.Stdout, "found %d %d\n", i, n)
	for n++; ; n++ {
		if n%2 == 0 {
			_, err = s.Write(ctx, o.Session, round(n))
		} else {
			if n%5 == 0 {
				err = errors.Join(s.Prepare(ctx, o.Session, int64(n), round(n+1)), s.Rollback(ctx, o.Session))
			}
			if err = errors.Join(err, s.Prepare(ctx, o.Session, int64(n), round(n))); err == nil {
				_, err = s.Commit(ctx, o.Session, int64(n))
			}
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "done %d %d\n", i, n)
	}
}

// TestKill kills a process that writes, again and again, while snapshots are taken all the time. Every second time its memory is lost with
// it. What was committed is there, and no more than the round that was under way.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := folders(t).ArenaDir
	done := [4]int{}
	for i := range 14 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		if i%2 == 1 {
			cmd.Env = append(cmd.Env, childEnv+"_ANEW=1")
		}
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		rounds := 20 + rand.IntN(1500)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var what string
			var who, n int
			if _, err := fmt.Sscan(lines.Text(), &what, &who, &n); err != nil {
				t.Fatal(lines.Text())
			}
			switch {
			case what == "failed", what == "found" && (n < done[who] || n > done[who]+1):
				t.Errorf("start %d: %q, %d were done", i, lines.Text(), done[who])
			}
			done[who] = n
			if rounds--; rounds == 0 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			return
		}
	}
	t.Log("rounds done:", done)
}

// TestSnapshotWhileWriting starts from snapshots that were taken at any moment between a prepare and its commit.
func TestSnapshotWhileWriting(t *testing.T) {
	t.Parallel()
	c := folders(t)
	done := 0
	for range 4 {
		r := start(t, c)
		o := r.session(t, "bolt")
		n, err := check(r.Store, o.Session)
		if err != nil || n != done {
			t.Fatalf("%d rounds, want %d: %v", n, done, err)
		}
		stop, finished := make(chan struct{}), make(chan error, 1)
		go func() {
			for {
				select {
				case <-stop:
					finished <- nil
					return
				default:
				}
				if err := r.Snapshot(context.Background()); err != nil {
					finished <- err
					return
				}
			}
		}()
		for limit := time.Now().Add(400 * time.Millisecond); time.Now().Before(limit); {
			done++
			if err := r.Prepare(t.Context(), o.Session, int64(done), round(done)); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Commit(t.Context(), o.Session, int64(done)); err != nil {
				t.Fatal(err)
			}
		}
		close(stop)
		if err := <-finished; err != nil {
			t.Fatal(err)
		}
		r.end(t)
		c.NewArena = true
	}
}
