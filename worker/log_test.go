// SPDX-License-Identifier: Apache-2.0

package worker

// Tests of the log: levels, and the bound of the file.

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/thrift/storm"
)

func newLogs(t *testing.T, maxBytes int64, keep int) (*logs, string) {
	t.Helper()
	dir := t.TempDir()
	l, err := openLogs(dir, maxBytes, keep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.file.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, dir
}

func level(target string, epoch int64) *storm.LogLevel {
	l := &storm.LogLevel{Action: storm.LogLevelAction_UPDATE, TargetLogLevel: &target}
	if epoch > 0 {
		l.ResetLogLevelTimeoutEpoch = &epoch
	}
	return l
}

func TestLevels(t *testing.T) {
	t.Parallel()
	l, dir := newLogs(t, 0, 1)
	now := time.UnixMilli(1_000_000)
	configs := map[string]map[string]*storm.LogLevel{
		"none":    nil,
		"root":    {"ROOT": level("DEBUG", 0)},
		"named":   {"worker": level("DEBUG", 0), "count": level("ERROR", 0), "worker.cluster": level("OFF", 0)},
		"over":    {"ROOT": level("DEBUG", now.UnixMilli())},
		"bounded": {"ROOT": level("ERROR", now.UnixMilli()+5000), "worker": level("TRACE", now.UnixMilli()+9000)},
		"removed": {"ROOT": {Action: storm.LogLevelAction_REMOVE, TargetLogLevel: new("ERROR")}, "x": nil, "worker": level("NOISE", 0)},
	}
	names := []string{"none", "root", "named", "over", "bounded", "removed"}
	for _, name := range names {
		next := l.levels.apply(&storm.LogConfig{NamedLoggerLevel: configs[name]}, now)
		if want := map[string]int64{"bounded": 5000}[name]; (want == 0) != next.IsZero() || (want != 0 && next.UnixMilli() != now.UnixMilli()+want) {
			t.Errorf("%s: the next reset is at %v", name, next)
		}
		for _, log := range []*zap.Logger{
			l.logger().Named("worker"), l.logger().Named("worker").Named("cluster"), l.component("count", 3),
		} {
			log.Log(traceLevel, name+" trace")
			log.Debug(name + " debug")
			log.Info(name + " info")
			log.Error(name + " error")
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, logName))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line) // date, time, level, logger, message...
		got[fields[4]] = append(got[fields[4]], fields[3]+" "+fields[5])
		if want := "[" + strings.ToUpper(fields[5]) + "]"; fields[2] != want {
			t.Errorf("line %q is not marked %s", line, want)
		}
	}
	all := []string{"count trace", "count debug", "count info", "count error"}
	normal := slices.Concat([]string{"worker info", "worker error", "worker.cluster info", "worker.cluster error"}, all)
	want := map[string][]string{
		"none": normal, "over": normal, "removed": normal,
		"root": slices.Concat([]string{
			"worker debug", "worker info", "worker error", "worker.cluster debug", "worker.cluster info", "worker.cluster error",
		}, all),
		"named": {"worker debug", "worker info", "worker error", "count error"},
		"bounded": slices.Concat([]string{
			"worker trace", "worker debug", "worker info", "worker error",
			"worker.cluster trace", "worker.cluster debug", "worker.cluster info", "worker.cluster error",
		}, all),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLogIsCut(t *testing.T) {
	t.Parallel()
	l, dir := newLogs(t, 1000, 3)
	log := l.logger()
	for i := range 100 {
		log.Info(fmt.Sprintf("line %03d of a log that is cut often enough to lose some", i))
	}
	l.file.mu.Lock()
	l.file.packing.Wait()
	l.file.mu.Unlock()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if info, err := e.Info(); err != nil || info.Size() > 1100 {
			t.Errorf("%s has %d bytes, %v", e.Name(), info.Size(), err)
		}
	}
	if diff := cmp.Diff([]string{"worker.log", "worker.log.1.gz", "worker.log.2.gz", "worker.log.3.gz"}, names); diff != "" {
		t.Error(diff)
	}
	newest, older := unpack(t, filepath.Join(dir, "worker.log.1.gz")), unpack(t, filepath.Join(dir, "worker.log.2.gz"))
	if !strings.Contains(newest, "line 0") || strings.Compare(newest, older) < 0 {
		t.Errorf("part 1:\n%s\npart 2:\n%s", newest, older)
	}
}

func unpack(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read from
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestErrorWindow(t *testing.T) {
	t.Parallel()
	l, _ := newLogs(t, 0, 1)
	now := time.Unix(1000, 0)
	r := newReporter("h", 1, 10*time.Second, 2, l.component)
	r.now = func() time.Time { return now }
	report := func(task int32, n int) {
		for range n {
			r.report("c", task, io.ErrUnexpectedEOF)
		}
	}
	report(1, 5)
	report(2, 1)
	now = now.Add(9 * time.Second)
	report(1, 1)
	now = now.Add(time.Second)
	report(1, 1)
	r.report("c", 1, nil)
	if n := len(r.queue); n != 2+1+1 {
		t.Errorf("%d errors passed", n)
	}
	r.report("c", 3, fmt.Errorf("%s", strings.Repeat("x", 1<<20)))
	if n := len(r.queue[len(r.queue)-1].info.Error); n != maxErrorText {
		t.Errorf("an error has %d bytes", n)
	}
}
