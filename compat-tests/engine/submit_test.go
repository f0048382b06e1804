// SPDX-License-Identifier: Apache-2.0

package engine_test

// Tests of a Go topology on its way to a cluster, by gust's own commands.

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/site"
	"github.com/gust-stream/gust/internal/testbed"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"
)

// TestProgramIsSubmitted builds the example, submits it and waits until its spout hears of acks.
func TestProgramIsSubmitted(t *testing.T) {
	binary, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "words")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./examples/go-wordcount")
	if build.Dir, err = testbed.Root(); err != nil {
		t.Fatal(err)
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	s, err := site.New(site.Options{Dir: t.TempDir(), Dev: true, Slots: 1, More: []string{"executor.metrics.frequency.secs: 1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	gust := func(args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Env = append(os.Environ(), "STORM_CONF_DIR="+filepath.Join(s.Dir, "conf"))
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("gust %s: %v\n%s", strings.Join(args, " "), err, said.String())
		}
		return out
	}
	var submitted struct{ Name, ID string }
	if err := json.Unmarshal(gust("submit", program, "--name", "words", "--json"), &submitted); err != nil {
		t.Fatal(err)
	}
	if submitted.Name != "words" || !strings.HasPrefix(submitted.ID, "words-1-") {
		t.Errorf("submitted %+v", submitted)
	}
	if text := string(gust("explain", "words")); !strings.Contains(text, "linked into the program resources/topology") {
		t.Errorf("explained as\n%s", text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = harness.Await(ctx, "the spout to hear of acks", func() (bool, error) { return acked(ctx, s, submitted.ID) })
	if err != nil {
		t.Fatal(err)
	}
	gust("storm", "kill", "words", "-w", "0")
}

// acked says whether a spout of a topology counts acks.
func acked(ctx context.Context, s *site.Site, id string) (found bool, err error) {
	err = s.Ask(ctx, func(ctx context.Context, nimbus *leader.Nimbus) error {
		info, err := nimbus.GetTopologyInfo(ctx, id)
		if err != nil {
			return err
		}
		for _, e := range info.Executors {
			found = found || spoutAcked(e.GetStats())
		}
		return nil
	})
	return found, err
}

func spoutAcked(stats *storm.ExecutorStats) bool {
	if stats == nil || stats.Specific == nil || stats.Specific.Spout == nil {
		return false
	}
	for _, n := range stats.Specific.Spout.Acked[":all-time"] {
		if n > 0 {
			return true
		}
	}
	return false
}
