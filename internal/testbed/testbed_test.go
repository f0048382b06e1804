// SPDX-License-Identifier: Apache-2.0

package testbed_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gust-stream/gust/internal/testbed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const often = 10 * time.Millisecond

func TestAwait(t *testing.T) {
	t.Parallel()
	asked := 0
	err := testbed.Await(t.Context(), "the third time", often, func() (bool, error) {
		asked++
		return asked == 3, nil
	})
	if err != nil || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	broken := errors.New("broken")
	err = testbed.Await(t.Context(), "nothing", often, func() (bool, error) { return false, broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want what the condition said", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err = testbed.Await(ctx, "the impossible", often, func() (bool, error) { return false, nil })
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the impossible") {
		t.Errorf("got %v, want a timeout that says what for", err)
	}
}

func start(t *testing.T, dir string, argv ...string) *testbed.Process {
	t.Helper()
	p, err := testbed.Start(testbed.Command{Name: argv[0], Log: filepath.Join(dir, "out"), Dir: dir, Argv: argv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestSweepTakesWhatBelongsToAFolder(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	inside := filepath.Join(dir, "inside")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	byFolder := start(t, inside, "sleep", "600")
	byName := start(t, other, "tail", "-f", filepath.Join(dir, "inside", "out"))
	foreign := start(t, other, "sleep", "600")
	want := []int{byFolder.PID(), byName.PID()}
	slices.Sort(want)
	var got []int
	// Between fork and exec a child still has the command line of this test.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := testbed.Await(ctx, "the strays", often, func() (bool, error) {
		var err error
		got, err = testbed.Of(dir)
		slices.Sort(got)
		return slices.Equal(want, got), err
	})
	if err != nil {
		t.Fatalf("%v: got %v, want %v", err, got, want)
	}
	if err := testbed.Sweep(dir); err != nil {
		t.Fatal(err)
	}
	<-byFolder.Done()
	<-byName.Done()
	if err := foreign.Ended(); err != nil {
		t.Errorf("a process of another folder was ended: %v", err)
	}
	if memory, err := testbed.PSS(foreign.PID()); err != nil || memory <= 0 {
		t.Errorf("it takes %d bytes, %v", memory, err)
	}
	foreign.Stop()
	if code, err := foreign.Wait(t.Context()); code != -1 || err != nil {
		t.Errorf("stopped with code %d, %v", code, err)
	}
}

func TestProcessEndsEarly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "out"), []byte("of the start before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, "sh", "-c", "echo what is wrong; exit 3")
	if code, err := p.Wait(t.Context()); code != 3 || err != nil {
		t.Errorf("ended with code %d, %v", code, err)
	}
	err := p.Ended()
	if err == nil || !strings.Contains(err.Error(), "what is wrong") || !strings.Contains(err.Error(), "3") {
		t.Errorf("got %v, want status and output", err)
	}
	if p.Output() != "what is wrong\n" || testbed.Tail(p.Log) != "of the start before\nwhat is wrong\n" {
		t.Errorf("output is %q", p.Output())
	}
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	const class = "org.apache.storm.daemon.worker.Worker"
	for name, c := range map[string]struct {
		argv []string
		want bool
	}{
		"Worker":     {[]string{"java", "-Dx=/c/logs", class, "id"}, true},
		"Foreign":    {[]string{"java", "-Dx=/other/logs", class, "id"}, false},
		"LongerName": {[]string{"java", "-Dx=/cc/logs", class, "id"}, false},
		"LogWriter":  {[]string{"java", "org.apache.storm.LogWriter", "java", "-Dx=/c/logs", class}, false},
		"Daemon":     {[]string{"java", "-Dx=/c/logs", "org.apache.storm.daemon.nimbus.Nimbus"}, false},
		"Gone":       {nil, false},
	} {
		if got := testbed.IsWorker(c.argv, "/c"); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	ports, err := testbed.Ports(50)
	slices.Sort(ports)
	if err != nil || len(slices.Compact(ports)) != 50 {
		t.Errorf("%v, %v", ports, err)
	}
}

func TestFindSaysWhoMakesIt(t *testing.T) {
	t.Setenv("GUST_STORM_HOME", filepath.Join(t.TempDir(), "nowhere"))
	if _, err := testbed.Home(); err == nil || !strings.Contains(err.Error(), "make storm-home") {
		t.Errorf("got %v, want the make target", err)
	}
}
