// SPDX-License-Identifier: Apache-2.0

// This file runs the scenarios.

package compat

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gust-stream/gust/compat-tests/diffs"
	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/ledger"
)

// limit bounds a scenario; workers of a busy machine take their time.
const limit = 4 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a running cluster with a client.
type rig struct {
	cluster harness.Cluster
	client  *harness.Client
}

// start brings a cluster up for the length of the test.
func start(t *testing.T, cluster harness.Cluster, err error) rig {
	t.Helper()
	if err != nil {
		t.Fatalf("prepare cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Errorf("stop %s: %v", cluster.Kind(), err)
		}
	})
	if err := cluster.Start(t.Context()); err != nil {
		t.Fatalf("start %s: %v", cluster.Kind(), err)
	}
	client, err := harness.NewClient(cluster)
	if err != nil {
		t.Fatalf("start client: %v", err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close client: %v", err)
		}
	})
	r := rig{cluster, client}
	if err := r.idle(t.Context()); err != nil {
		t.Fatalf("start %s: %v", cluster.Kind(), err)
	}
	return r
}

// idle waits until every slot is there and free, and no worker lives.
func (r rig) idle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return harness.Await(ctx, r.cluster.Kind()+" to have all slots free", func() (bool, error) {
		var cluster struct {
			Supervisors []struct {
				Slots int `json:"slots"`
				Used  int `json:"used"`
			} `json:"supervisors"`
		}
		if err := r.client.Get(ctx, &cluster, "cluster"); err != nil {
			return false, err
		}
		pids, err := r.cluster.Workers()
		if err != nil {
			return false, err
		}
		return len(pids) == 0 && len(cluster.Supervisors) == 1 &&
			cluster.Supervisors[0].Slots == harness.Slots && cluster.Supervisors[0].Used == 0, nil
	})
}

// TestCompat runs every scenario on gust, on stock, or on both, as GUST_COMPAT says.
func TestCompat(t *testing.T) {
	mode := os.Getenv("GUST_COMPAT")
	var stock, gust rig
	switch mode {
	case "", "live", "record":
	default:
		t.Fatalf("GUST_COMPAT is %q: not record, live or empty", mode)
	}
	if mode != "" {
		cluster, err := harness.NewStock(t.TempDir())
		stock = start(t, cluster, err)
	}
	if mode != "record" {
		cluster, err := harness.NewGust(t.TempDir())
		gust = start(t, cluster, err)
	}
	run := func(name string, ask func(context.Context, rig) (record, error)) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			var want record
			var err error
			if mode == "" {
				want, err = recorded(name)
			} else {
				want, err = ask(ctx, stock)
			}
			if err != nil {
				t.Fatalf("stock: %v", err)
			}
			if mode == "record" {
				if err := store(name, want); err != nil {
					t.Fatal(err)
				}
				return
			}
			got, err := ask(ctx, gust)
			if err != nil {
				t.Fatalf("gust: %v", err)
			}
			compare(t, name, want, got)
		})
	}
	for _, s := range scenarios() {
		run(s.name, func(ctx context.Context, r rig) (record, error) { return r.topology(ctx, s) })
	}
	run(diffs.Refusals, func(ctx context.Context, r rig) (record, error) { return r.badSubmits(ctx) })
}

// topology submits a scenario's topology, waits for its results, asks the
// cluster about it and takes it away again.
func (r rig) topology(ctx context.Context, s scenario) (record, error) {
	out := filepath.Join(r.cluster.Settings().Dir, "results", s.name)
	_, err := harness.Submit(ctx, r.cluster, harness.Submission{Main: "org.gust.compat." + s.main, Args: []string{s.name, out}})
	if err != nil {
		return record{}, err
	}
	var book ledger.Book
	err = harness.Await(ctx, "results of "+s.name, func() (bool, error) {
		var err error
		book, err = ledger.Read(out)
		return err == nil && s.done(book), err
	})
	if err != nil {
		return record{}, r.explain(err)
	}
	var topologies map[string]struct {
		ID string `json:"id"`
	}
	if err := r.client.Get(ctx, &topologies, "list"); err != nil {
		return record{}, err
	}
	rec, err := observe(ctx, r.cluster, r.client, topologies[s.name].ID)
	if err != nil {
		return record{}, err
	}
	if _, err := r.client.Ask(ctx, "kill", s.name, "0"); err != nil {
		return record{}, err
	}
	if err := r.idle(ctx); err != nil {
		return record{}, err
	}
	// Only now are all files complete.
	if book, err = ledger.Read(out); err != nil {
		return record{}, err
	}
	rec.Outcome, err = s.outcome(book)
	return rec, err
}

// explain adds the ends of the worker logs to an error.
func (r rig) explain(err error) error {
	logs, globErr := filepath.Glob(filepath.Join(r.cluster.Settings().Dir, "*", "workers-artifacts", "*", "*", "worker.log*"))
	if globErr != nil {
		return err
	}
	for _, log := range logs {
		if text, readErr := os.ReadFile(log); readErr == nil {
			err = fmt.Errorf("%w\n--- %s\n%s", err, log, text[max(0, len(text)-2000):])
		}
	}
	return err
}
