// SPDX-License-Identifier: Apache-2.0

package gosdk

// This file submits the topology and judges what it wrote down.

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/testbed"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/program"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"
	"go.uber.org/goleak"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/site"
)

const (
	count = 2000
	limit = 4 * time.Minute
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must[T any](t *testing.T) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// built is the topology's binary and what it says of itself.
func built(t *testing.T, out string) (string, program.Description) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "numbers")
	if text, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./numbers").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	cmd := exec.CommandContext(t.Context(), binary, "--describe")
	cmd.Env = append(os.Environ(), "COMPAT_OUT="+out)
	cmd.Stderr = os.Stderr
	var d program.Description
	if err := json.Unmarshal(must[[]byte](t)(cmd.Output()), &d); err != nil {
		t.Fatal(err)
	}
	return binary, d
}

// jar is what is uploaded: no class in it.
func jar(t *testing.T, binary string, d program.Description) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	files := map[string][]byte{component.Binary: must[[]byte](t)(os.ReadFile(binary))}
	for name, text := range d.Files {
		files[name] = []byte(text)
	}
	for name, content := range files {
		// No mode is noted, as in JARs that Java made.
		w, err := z.Create("resources/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func TestUnderStockWorkers(t *testing.T) {
	// The parent of stock 2.8.3 ends any child that emits directly, so nobody asks for that there.
	try(t, "java", []string{"byfields", "bypartial"}, func(_ program.Description, code *storm.StormTopology) { delete(code.Bolts, "direct") })
}

func TestOnGoWorkers(t *testing.T) {
	try(t, "go", []string{"byfields", "bypartial", "direct"}, func(program.Description, *storm.StormTopology) {})
}

func TestAsChildrenOfGoWorkers(t *testing.T) {
	try(t, "go", []string{"byfields", "bypartial", "direct"}, func(d program.Description, _ *storm.StormTopology) {
		delete(d.Conf, config.GustTopologyGoBinary) // so nobody knows that they could be linked
	})
}

// try submits the topology for an engine, changed, and judges what it did and what its sinks got.
func try(t *testing.T, engine string, sinks []string, change func(program.Description, *storm.StormTopology)) {
	t.Helper()
	out := t.TempDir()
	binary, d := built(t, out)
	s := must[*site.Site](t)(site.New(site.Options{Dir: t.TempDir(), Dev: true, Slots: 1}))
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.Conf["gust.topology.worker.engine"] = engine
	code := &storm.StormTopology{}
	buffer := thrift.NewTMemoryBuffer()
	buffer.Write(d.Topology)
	if err := code.Read(t.Context(), thrift.NewTBinaryProtocolConf(buffer, nil)); err != nil {
		t.Fatal(err)
	}
	change(d, code)
	conf := string(must[[]byte](t)(json.Marshal(d.Conf)))
	err := s.Ask(t.Context(), func(ctx context.Context, nimbus *leader.Nimbus) error {
		location, err := site.UploadFrom(ctx, nimbus, jar(t, binary, d))
		if err != nil {
			return err
		}
		return nimbus.SubmitTopology(ctx, d.Name, location, conf, code)
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := harness.Await(ctx, "all numbers to be acked and written down", func() (bool, error) { return done(t, out, sinks) }); err != nil {
		tails(t, s)
		for _, sink := range sinks {
			all, _ := numbersOf(t, out, sink)
			t.Logf("%s saw %d numbers", sink, len(all))
		}
		t.Fatal(err, must[[]string](t)(filepath.Glob(filepath.Join(out, "*"))))
	}
	for _, w := range must[[]site.Worker](t)(s.Workers()) {
		if argv := testbed.Argv(w.PID); (filepath.Base(argv[0]) == "java") != (engine == "java") {
			t.Errorf("engine %s runs %q", engine, argv)
		}
	}
	judge(t, out, sinks)
	judgeErrors(t, s, d.Name, engine)
	judgeLog(t, s)
}

// done says whether there is nothing more to wait for.
func done(t *testing.T, out string, sinks []string) (bool, error) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(out, "numbers-*.json"))
	if len(found) != 1 || err != nil {
		return false, err
	}
	for _, sink := range sinks {
		if all, _ := numbersOf(t, out, sink); len(all) != count {
			return false, nil
		}
	}
	// A bolt with nothing to do lives on for twice its time limit.
	idle, err := filepath.Glob(filepath.Join(out, "idle-*.json"))
	if len(idle) != 1 || err != nil {
		return false, err
	}
	info, err := os.Stat(idle[0])
	return err == nil && time.Since(info.ModTime()) > 10*time.Second, err
}

// tails shows the ends of the workers' logs.
func tails(t *testing.T, s *site.Site) {
	t.Helper()
	_ = filepath.WalkDir(s.Dir, func(path string, _ os.DirEntry, err error) error { // a look at what there is
		if err != nil || !strings.Contains(path, "worker") || !strings.Contains(filepath.Base(path), ".log") {
			return nil //nolint:nilerr // files come and go
		}
		text, _ := os.ReadFile(path) // files come and go
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "ERROR") || strings.Contains(line, "Caused by") {
				t.Logf("%s: %.300s", filepath.Base(path), line)
			}
		}
		return nil
	})
}

// read gives the notes of a component's tasks.
func read[T any](t *testing.T, out, component string) []T {
	t.Helper()
	var all []T
	for _, name := range must[[]string](t)(filepath.Glob(filepath.Join(out, component+"-*.json"))) {
		var one T
		if err := json.Unmarshal(must[[]byte](t)(os.ReadFile(name)), &one); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, one)
	}
	return all
}

// numbersOf are the numbers that a sink's tasks have seen, and which tasks saw each key.
func numbersOf(t *testing.T, out, sink string) (numbers map[string]bool, tasks map[string]map[int]bool) {
	t.Helper()
	numbers, tasks = map[string]bool{}, map[string]map[int]bool{}
	for task, seen := range read[map[string]string](t, out, sink) {
		for n, key := range seen {
			numbers[n] = true
			if tasks[key] == nil {
				tasks[key] = map[int]bool{}
			}
			tasks[key][task] = true
		}
	}
	return numbers, tasks
}

// judge looks at what the tasks saw.
func judge(t *testing.T, out string, sinks []string) {
	t.Helper()
	spout := read[struct {
		Acked map[string]int
		Fails int
	}](t, out, "numbers")
	if len(spout) != 1 || len(spout[0].Acked) != count || spout[0].Fails < count/7 {
		t.Errorf("spout: %d acked, %d failed", len(spout[0].Acked), spout[0].Fails)
	}
	for _, relay := range read[struct {
		Ticks int
		Wrong string
	}](t, out, "relay") {
		if relay.Ticks == 0 || relay.Wrong != "" {
			t.Errorf("relay: %d ticks, wrong values: %s", relay.Ticks, relay.Wrong)
		}
	}
	for _, sink := range sinks {
		_, tasks := numbersOf(t, out, sink)
		spread := slices.Max(slices.Collect(func(yield func(int) bool) {
			for of := range maps.Values(tasks) {
				if !yield(len(of)) {
					return
				}
			}
		}))
		if most := map[string]int{"byfields": 1, "bypartial": 2, "direct": 2}[sink]; spread != most {
			t.Errorf("%s: a key went to %d tasks, not %d", sink, spread, most)
		}
	}
}

// judgeErrors wants the components' errors in what the UI shows.
func judgeErrors(t *testing.T, s *site.Site, name, engine string) {
	t.Helper()
	id := must[string](t)(s.TopologyID(t.Context(), name))
	var all []string
	err := s.Ask(t.Context(), func(ctx context.Context, nimbus *leader.Nimbus) error {
		info, err := nimbus.GetTopologyInfo(ctx, id)
		if err != nil {
			return err
		}
		for component, errs := range info.Errors {
			for _, e := range errs {
				all = append(all, component+": "+e.Error)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(all, "\n---\n")
	if engine == "java" {
		// A stock worker ends with its child, at times before it has told Nimbus of the child's last words. Its log has them.
		text += strings.Join(logs(t, s), "\n---\n")
	}
	for _, want := range []string{"is not liked", "panic: number 1000", "main.(*relay).Execute", "number 1500 is remarkable"} {
		if !strings.Contains(text, want) {
			t.Errorf("no error says %q among\n%.3000s", want, text)
		}
	}
}

// judgeLog wants the spout's line in a worker's log.
func judgeLog(t *testing.T, s *site.Site) {
	t.Helper()
	if !slices.ContainsFunc(logs(t, s), func(text string) bool { return strings.Contains(text, "numbers are open in numbers-1-") }) {
		t.Error("no log has the spout's line")
	}
}

// logs are the texts of the workers' logs.
func logs(t *testing.T, s *site.Site) (texts []string) {
	t.Helper()
	err := filepath.WalkDir(s.Dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(entry.Name(), ".log") {
			return nil //nolint:nilerr // files come and go
		}
		if text, err := os.ReadFile(path); err == nil {
			texts = append(texts, string(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
