// SPDX-License-Identifier: Apache-2.0

// This file tests JDKs.

package versions

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/gust-stream/gust/compat-tests/harness"
)

// supported are the JDKs that workers run with, by feature release; the first one must be on this machine.
var supported = []string{"17", "21", "25"}

// jdks finds the JDKs of this machine: folder by feature release.
func jdks(t *testing.T) map[string]string {
	t.Helper()
	folders, err := filepath.Glob("/usr/lib/jvm/*")
	if err != nil {
		t.Fatal(err)
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	folders = append(folders, filepath.Join(root, "build", "jre-21"))
	if named := os.Getenv("JAVA_HOME"); named != "" {
		folders = append(folders, named)
	}
	version := regexp.MustCompile(`(?m)^JAVA_VERSION="(\d+)`)
	found := map[string]string{}
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "release"))
		if err != nil {
			continue // no JDK, or one that does not say what it is
		}
		if m := version.FindSubmatch(text); m != nil {
			found[string(m[1])] = folder
		}
	}
	return found
}

// TestJDK runs workers and clients with each JDK that this machine has, or that make jre-21 laid out. The cut leaves out the oldest
// one, since the other tests run with the machine's default.
func TestJDK(t *testing.T) {
	found := jdks(t)
	if found[supported[0]] == "" {
		t.Fatalf("no JDK %s under /usr/lib/jvm nor as JAVA_HOME (make setup installs one); found %v", supported[0], found)
	}
	features := slices.DeleteFunc(slices.Clone(supported), func(feature string) bool { return found[feature] == "" })
	t.Logf("this machine has JDK %v of %v", features, supported)
	if !live() {
		features = features[min(1, len(features)-1):]
	}
	for _, feature := range features {
		t.Run("Java"+feature, func(t *testing.T) {
			home := found[feature]
			t.Setenv("JAVA_HOME", home)
			cluster, err := harness.NewGust(t.TempDir())
			s := open(t, cluster, err)
			w := s.submit(t, "WordCount", "words", nil)
			first := w.acking(t)
			if got := w.facts(t, first); got.Java != feature {
				t.Errorf("worker runs on Java %s in %s, want %s in %s", got.Java, got.JavaHome, feature, home)
			}
			kill(t, first)
			w.acking(t, first)
		})
	}
}
