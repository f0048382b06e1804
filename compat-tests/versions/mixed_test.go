// SPDX-License-Identifier: Apache-2.0

// This file tests gust's daemons beside stock's: on one cluster, and one after the other on one disk.

package versions

import (
	"slices"
	"testing"

	"github.com/gust-stream/gust/compat-tests/harness"
)

// TestMixedCluster runs a word count on clusters that are partly stock's and partly gust's, with the kill of a worker, a
// rebalance and the end of the topology. The cut is a stock Supervisor that takes orders from gust.
func TestMixedCluster(t *testing.T) {
	zk, nimbus, supervisor := harness.ZooKeeper, harness.Nimbus, harness.Supervisor
	for _, c := range []struct {
		name string
		ours []harness.Part
		cut  bool
	}{
		{"StockSupervisor", []harness.Part{zk, nimbus}, true},
		{"StockNimbus", []harness.Part{zk, supervisor}, false},
		{"StockZooKeeper", []harness.Part{nimbus, supervisor}, false},
		{"StockNimbusAndZooKeeper", []harness.Part{supervisor}, false},
		{"StockZooKeeperAndSupervisor", []harness.Part{nimbus}, false},
		{"StockBeyondZooKeeper", []harness.Part{zk}, false},
	} {
		if !c.cut && !live() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			cluster, err := harness.NewMixed(t.TempDir(), c.ours...)
			s := open(t, cluster, err)
			w := s.submit(t, "WordCount", "words", nil)
			first := w.acking(t)
			want := "10" // stock hands nothing of its own to workers
			if slices.Contains(c.ours, supervisor) {
				want = "1"
			}
			if got := w.facts(t, first); got.Refresh != want {
				t.Errorf("worker asks for its assignment each %s s, want %s", got.Refresh, want)
			}
			kill(t, first)
			second := w.acking(t, first)
			client := s.ask(t)
			if _, err := client.Ask(t.Context(), "rebalance", "words", "0", "split=1"); err != nil {
				t.Fatalf("rebalance: %v", err)
			}
			w.gone(t, second)
			third := w.acking(t, first, second)
			if _, err := client.Ask(t.Context(), "kill", "words", "0"); err != nil {
				t.Fatalf("kill: %v", err)
			}
			w.gone(t, third)
		})
	}
}

// TestTakeOver starts the other kind of supervisor on the disk of one that was killed: it adopts the running worker, starts a
// new one when that dies, and ends that with its topology. The cut is gust after stock.
func TestTakeOver(t *testing.T) {
	for _, c := range []struct {
		name  string
		first []harness.Part
		cut   bool
	}{
		{"GustAfterStock", []harness.Part{harness.ZooKeeper, harness.Nimbus}, true},
		{"StockAfterGust", []harness.Part{harness.ZooKeeper, harness.Nimbus, harness.Supervisor}, false},
	} {
		if !c.cut && !live() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			cluster, err := harness.NewMixed(t.TempDir(), c.first...)
			s := open(t, cluster, err)
			// An adopted worker's death is seen by stock only when its heartbeat is too old.
			w := s.submit(t, "WordCount", "words", nil)
			first := w.acking(t)
			if err := cluster.Swap(t.Context(), harness.Supervisor); err != nil {
				t.Fatalf("change supervisors: %v", err)
			}
			client := s.ask(t)
			w.await(t, "the slot in use", func() (bool, error) {
				var state struct {
					Supervisors []struct {
						Used int `json:"used"`
					} `json:"supervisors"`
				}
				err := client.Get(t.Context(), &state, "cluster")
				return len(state.Supervisors) == 1 && state.Supervisors[0].Used == 1, err
			})
			w.goingOn(t, first)
			pids, err := cluster.Workers()
			if err != nil || !slices.Equal(pids, []int{first}) {
				t.Errorf("workers %v (%v), want %d alone", pids, err, first)
			}
			kill(t, first)
			second := w.acking(t, first)
			if _, err := client.Ask(t.Context(), "kill", "words", "0"); err != nil {
				t.Fatalf("kill: %v", err)
			}
			w.gone(t, second)
		})
	}
}
