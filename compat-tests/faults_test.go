// SPDX-License-Identifier: Apache-2.0

// This file kills parts of a running gust and counts tuples.

package compat

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/ledger"
)

// TestFaults kills what runs a word count, in the middle of it. Whatever is
// killed, every row must be acked and every word of it counted at least once.
func TestFaults(t *testing.T) {
	cluster, err := harness.NewGust(t.TempDir())
	gust := start(t, cluster, err)
	for _, fault := range []struct {
		name string
		// keeps says that workers must outlive the fault under their own pid.
		keeps  bool
		strike func(ctx context.Context, r rig, workers []int) error
	}{
		{"Worker", false, func(_ context.Context, _ rig, workers []int) error { return killAll(workers) }},
		{"Daemon", true, func(ctx context.Context, r rig, _ []int) error {
			if err := r.cluster.Kill(harness.Nimbus); err != nil {
				return err
			}
			return r.cluster.Restart(ctx, harness.Nimbus)
		}},
		{"All", false, func(ctx context.Context, r rig, workers []int) error {
			if err := r.cluster.Kill(harness.Nimbus); err != nil {
				return err
			}
			if err := killAll(workers); err != nil {
				return err
			}
			return r.cluster.Restart(ctx, harness.Nimbus)
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			name := "fault-" + fault.name
			out := filepath.Join(gust.cluster.Settings().Dir, "results", name)
			// 250 rows a task, 20 ms apart: the fault comes long before the end.
			_, err := harness.Submit(ctx, gust.cluster, harness.Submission{
				Main: "org.gust.compat.WordCount", Args: []string{name, out, "compat.pause.ms=20"},
			})
			if err != nil {
				t.Fatal(err)
			}
			acks := func(rows int) func() (bool, error) {
				return func() (bool, error) {
					book, err := ledger.Read(out)
					return ledger.Distinct(book.Verb("sentences", "acked"), 0) >= rows, err
				}
			}
			if err := harness.Await(ctx, "some acks", acks(20)); err != nil {
				t.Fatal(gust.explain(err))
			}
			before, err := gust.cluster.Workers()
			if err != nil || len(before) == 0 {
				t.Fatalf("workers %v, %v", before, err)
			}
			if err := fault.strike(ctx, gust, before); err != nil {
				t.Fatal(err)
			}
			if err := harness.Await(ctx, "all acks", acks(500)); err != nil {
				t.Fatal(gust.explain(err))
			}
			after, err := gust.cluster.Workers()
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(before)
			slices.Sort(after)
			if fault.keeps != gocmp.Equal(before, after) {
				t.Errorf("workers were %v and are %v; kept must be %t", before, after, fault.keeps)
			}
			if err := atLeastOnce(out); err != nil {
				t.Error(err)
			}
			if _, err := gust.client.Ask(ctx, "kill", name, "0"); err != nil {
				t.Fatal(err)
			}
			if err := gust.idle(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// atLeastOnce compares the different words that were counted with those of an undisturbed run on stock.
func atLeastOnce(out string) error {
	book, err := ledger.Read(out)
	if err != nil {
		return err
	}
	seen, got := map[string]bool{}, map[string]int{}
	for _, line := range book["count"] {
		if key := fmt.Sprint(line.Cells[2:]); !seen[key] {
			seen[key] = true
			got[line.Cells[0]]++
		}
	}
	var stock struct {
		Outcome map[string]wordCount `json:"outcome"`
	}
	if err := readJSON("word-count", &stock); err != nil {
		return err
	}
	want := map[string]int{}
	for word, count := range stock.Outcome {
		want[word] = count.Count
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		return fmt.Errorf("words that were counted (-want +got):\n%s", diff)
	}
	return nil
}

func killAll(pids []int) error {
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return fmt.Errorf("kill worker %d: %w", pid, err)
		}
	}
	return nil
}
