// SPDX-License-Identifier: Apache-2.0

// This file tests older releases of Storm: as Storm home with their own client, and as clients of a gust of the reference release.

package versions

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/versions/facts"
)

// TestOlderHome runs the workers of an older release: they ack, come back after a kill -9, and are started anew by a
// rebalance. Python children are part of the second topology.
func TestOlderHome(t *testing.T) {
	for _, version := range []string{"2.4.0", "2.6.4"} {
		t.Run(version, func(t *testing.T) {
			useHome(t, version)
			cluster, err := harness.NewGust(t.TempDir())
			s := open(t, cluster, err)
			client := s.ask(t)
			w := s.submit(t, "WordCount", "words", nil)
			python := s.submit(t, "PythonWordCount", "python", nil)

			first := w.acking(t)
			got := w.facts(t, first)
			want := facts.Facts{Java: got.Java, JavaHome: got.JavaHome, Storm: version, Refresh: "1"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("worker (-want +got):\n%s", diff)
			}
			kill(t, first)
			second := w.acking(t, first)
			python.goingOn(t, python.acking(t))

			if _, err := client.Ask(t.Context(), "rebalance", "words", "0", "workers=2", "split=1"); err != nil {
				t.Fatalf("rebalance: %v", err)
			}
			w.gone(t, second)
			w.acking(t, first, second)
			for _, name := range []string{"words", "python"} {
				if _, err := client.Ask(t.Context(), "kill", name, "0"); err != nil {
					t.Fatalf("kill %s: %v", name, err)
				}
			}
			w.await(t, "the end of all workers", func() (bool, error) {
				pids, err := s.cluster.Workers()
				return len(pids) == 0, err
			})
		})
	}
}

// TestOlderClient submits with the client of an older release to a gust whose Storm home is the reference release. The cut
// is the oldest.
func TestOlderClient(t *testing.T) {
	cluster, err := harness.NewGust(t.TempDir())
	s := open(t, cluster, err)
	for _, version := range []string{"2.4.0", "2.6.4"} {
		if version != "2.4.0" && !live() {
			continue
		}
		t.Run(version, func(t *testing.T) {
			useHome(t, version)
			w := s.submit(t, "WordCount", "by-"+strings.ReplaceAll(version, ".", "-"), nil)
			pid := w.acking(t)
			if got := w.facts(t, pid); got.Storm != harness.Version {
				t.Errorf("worker is Storm %s, want that of gust's home, %s", got.Storm, harness.Version)
			}
			if _, err := s.ask(t).Ask(t.Context(), "kill", w.name, "0"); err != nil {
				t.Fatalf("kill: %v", err)
			}
			w.gone(t, pid)
		})
	}
}
