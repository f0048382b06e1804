// SPDX-License-Identifier: Apache-2.0

// This file tests gust's daemons beside stock's: on one cluster, and one after the other on one disk.

package versions

import (
	"fmt"
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

// TestTakeOver starts the other kind of Nimbus or Supervisor on the disk of one that was killed: the worker runs on under its
// pid, a dead one is started anew, a rebalance and the end of the topology work. The cut is a gust supervisor after stock's.
func TestTakeOver(t *testing.T) {
	zk, nimbus, supervisor := harness.ZooKeeper, harness.Nimbus, harness.Supervisor
	for _, c := range []struct {
		name string
		ours []harness.Part // at first
		swap harness.Part
		cut  bool
	}{
		{"SupervisorGustAfterStock", []harness.Part{zk, nimbus}, supervisor, true},
		{"SupervisorStockAfterGust", []harness.Part{zk, nimbus, supervisor}, supervisor, false},
		{"NimbusGustAfterStock", nil, nimbus, false},
		{"NimbusStockAfterGust", []harness.Part{zk, nimbus, supervisor}, nimbus, false},
	} {
		if !c.cut && !live() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			cluster, err := harness.NewMixed(t.TempDir(), c.ours...)
			s := open(t, cluster, err)
			w := s.submit(t, "WordCount", "words", nil)
			first := w.acking(t)
			if err := cluster.Swap(t.Context(), c.swap); err != nil {
				t.Fatalf("change %s: %v", c.swap, err)
			}
			client := s.ask(t)
			s.used(t, client, w, 1)
			// A new Nimbus leads only when the session of the old one is over, and knows no names until then.
			w.await(t, "a Nimbus that knows words", func() (free bool, err error) {
				err = client.Get(t.Context(), &free, "name-allowed", w.name)
				return !free, err
			})
			w.goingOn(t, first)
			if pids, err := cluster.Workers(); err != nil || !slices.Equal(pids, []int{first}) {
				t.Errorf("workers %v (%v), want %d alone", pids, err, first)
			}
			kill(t, first)
			second := w.acking(t, first)
			if _, err := client.Ask(t.Context(), "rebalance", "words", "0", "split=1"); err != nil {
				t.Fatalf("rebalance: %v", err)
			}
			w.gone(t, second)
			third := w.acking(t, first, second)
			if _, err := client.Ask(t.Context(), "kill", "words", "0"); err != nil {
				t.Fatalf("kill: %v", err)
			}
			w.gone(t, third)
			s.used(t, client, w, 0)
		})
	}
}

// used waits until Nimbus says that so many slots are in use.
func (s site) used(t *testing.T, client *harness.Client, w work, slots int) {
	t.Helper()
	w.await(t, fmt.Sprintf("%d slots in use", slots), func() (bool, error) {
		var state struct {
			Supervisors []struct {
				Used int `json:"used"`
			} `json:"supervisors"`
		}
		err := client.Get(t.Context(), &state, "cluster")
		return len(state.Supervisors) == 1 && state.Supervisors[0].Used == slots, err
	})
}
