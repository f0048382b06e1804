// SPDX-License-Identifier: Apache-2.0

// This file tests what needs no cluster.

package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAwait(t *testing.T) {
	t.Parallel()
	asked := 0
	err := Await(t.Context(), "the third time", func() (bool, error) {
		asked++
		return asked == 3, nil
	})
	if err != nil || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	broken := errors.New("broken")
	err = Await(t.Context(), "nothing", func() (bool, error) { return false, broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want what the condition said", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err = Await(ctx, "the impossible", func() (bool, error) { return false, nil })
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the impossible") {
		t.Errorf("got %v, want a timeout that says what for", err)
	}
}

func TestSettingsWrite(t *testing.T) {
	t.Parallel()
	s, err := newSettings(t.TempDir(), []string{"topology.workers: 2"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.write(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.Conf(), "storm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var conf map[string]any
	if err := yaml.Unmarshal(text, &conf); err != nil {
		t.Fatalf("storm.yaml: %v\n%s", err, text)
	}
	if conf["topology.workers"] != 2 || conf["nimbus.thrift.port"] != s.Nimbus || conf["storm.local.dir"] != s.Local() {
		t.Errorf("storm.yaml: %v", conf)
	}
	ports := append([]int{s.Nimbus, s.Supervisor, s.ZooKeeper}, s.Slots...)
	slices.Sort(ports)
	if len(slices.Compact(ports)) != 3+Slots {
		t.Errorf("ports are not all different: %v", ports)
	}
}

func TestStraysAndSweep(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	inside := filepath.Join(dir, "inside")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	start := func(dir string, argv ...string) *process {
		p, err := launch("sleeper", dir, nil, argv)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.kill)
		return p
	}
	byFolder := start(inside, "sleep", "600")
	byName := start(other, "tail", "-f", filepath.Join(dir, "inside", "sleeper.out"))
	foreign := start(other, "sleep", "600")
	want := []int{byFolder.cmd.Process.Pid, byName.cmd.Process.Pid}
	slices.Sort(want)
	// Between fork and exec a child still has the command line of this test.
	var got []int
	err := Await(t.Context(), "the strays", func() (bool, error) {
		var err error
		got, err = strays(dir)
		slices.Sort(got)
		return cmp.Equal(want, got), err
	})
	if err != nil {
		t.Fatalf("%v: got %v, want %v", err, got, want)
	}
	b := base{settings: Settings{Dir: dir}}
	if err := b.sweep(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*process{byFolder, byName} {
		<-p.done
	}
	if err := foreign.ended(); err != nil {
		t.Errorf("a process of another folder was ended: %v", err)
	}
}

func TestProcessEndsEarly(t *testing.T) {
	t.Parallel()
	p, err := launch("broken", t.TempDir(), nil, []string{"sh", "-c", "echo what is wrong; exit 3"})
	if err != nil {
		t.Fatal(err)
	}
	<-p.done
	if err := p.ended(); err == nil || !strings.Contains(err.Error(), "what is wrong") || !strings.Contains(err.Error(), "3") {
		t.Errorf("got %v, want status and output", err)
	}
}

func TestFindSaysWhoMakesIt(t *testing.T) {
	t.Setenv("GUST_STORM_HOME", filepath.Join(t.TempDir(), "nowhere"))
	if _, err := Home(); err == nil || !strings.Contains(err.Error(), "make storm-home") {
		t.Errorf("got %v, want the make target", err)
	}
}
