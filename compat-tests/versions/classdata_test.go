// SPDX-License-Identifier: Apache-2.0

// This file tests class-data archives.

package versions

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gust-stream/gust/compat-tests/harness"
)

// TestClassData has gust make an archive for each JDK of this machine, and looks at what workers do with it: one that starts
// later takes Storm's classes from it, and one whose topology has a word on archives of its own is left alone. The cut is the
// first JDK.
func TestClassData(t *testing.T) {
	found := jdks(t)
	cluster, err := harness.NewGust(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var before []string
	for _, feature := range supported {
		home := found[feature]
		if home == "" || (before != nil && !live()) {
			continue
		}
		ok := t.Run("Java"+feature, func(t *testing.T) {
			t.Setenv("JAVA_HOME", home)
			s := open(t, cluster, nil)
			before = append(before, s.share(t, feature, before))
		})
		if !ok {
			return
		}
	}
}

// share does this with the JDK that gust runs with, and gives the archive. There are others from before.
func (s site) share(t *testing.T, feature string, before []string) string {
	t.Helper()
	loads := t.TempDir()
	w := s.submit(t, "WordCount", "shared-"+feature, map[string]string{
		"topology.worker.childopts": "-Xlog:class+load:file=" + filepath.Join(loads, "%p"),
	})
	first := w.acking(t)
	var archive string
	w.await(t, "an archive", func() (bool, error) {
		archives, err := filepath.Glob(filepath.Join(s.cluster.Settings().Local(), "supervisor", "class-data", "*.jsa"))
		archives = slices.DeleteFunc(archives, func(file string) bool { return slices.Contains(before, file) })
		if len(archives) > 0 {
			archive = archives[0]
		}
		return len(archives) > 0, err
	})
	kill(t, first)
	second := w.acking(t, first)
	if used := usedBy(second); used != archive {
		t.Errorf("the worker was told to use %q, want %s", used, archive)
	}
	loaded, err := os.ReadFile(filepath.Join(loads, strconv.Itoa(second)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(loaded, []byte("org.apache.storm.daemon.worker.Worker source: shared objects file")) {
		t.Error("Storm's classes do not come from the archive")
	}
	own := s.submit(t, "WordCount", "own-"+feature, map[string]string{"topology.worker.childopts": "-Xshare:auto"})
	if used := usedBy(own.acking(t)); used != "" {
		t.Errorf("a worker with a -Xshare option of its own was told to use %s", used)
	}
	home, err := harness.Home()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{w.name, own.name} {
		said, err := storm(t, []string{"STORM_HOME=" + home, "STORM_CONF_DIR=" + s.cluster.Settings().Conf()}, "kill", name, "-w", "0")
		if err != nil {
			t.Errorf("kill %s: %v\n%s", name, err, said)
		}
	}
	for _, name := range []string{"worker.log.out", "worker.log.err"} {
		outputs, err := filepath.Glob(filepath.Join(s.cluster.Settings().Logs(), "workers-artifacts", "*", "*", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, output := range outputs {
			if text, err := os.ReadFile(output); err != nil || bytes.Contains(text, []byte("hared")) || bytes.Contains(text, []byte("[cds")) {
				t.Errorf("a JVM complains in %s (%v):\n%s", output, err, text)
			}
		}
	}
	return archive
}

// usedBy is the archive that a process was told to use, "" if none.
func usedBy(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	for arg := range strings.SplitSeq(string(line), "\x00") {
		if file, ok := strings.CutPrefix(arg, "-XX:SharedArchiveFile="); ok {
			return file
		}
	}
	return ""
}
