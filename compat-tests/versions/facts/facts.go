// SPDX-License-Identifier: Apache-2.0

// This file compiles the hook, hands it to topologies and reads what it wrote.

package facts

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gust-stream/gust/compat-tests/harness"
)

// Facts are what a worker says of itself. A fact that it does not know is
// "null".
type Facts struct {
	Java     string // feature release of the JDK, "17"
	JavaHome string // as the JVM names it
	Storm    string // release of the Storm on its class path
	Refresh  string // task.refresh.poll.secs as the worker has it
	Resource string // URL of the resource that was asked for, "" if none was
}

// Hook is a compiled hook.
type Hook struct{ classes, out string }

// Compile makes the hook in dir, against the Storm home of the harness.
func Compile(ctx context.Context, dir string) (*Hook, error) {
	home, err := harness.Home()
	if err != nil {
		return nil, err
	}
	root, err := harness.Root()
	if err != nil {
		return nil, err
	}
	h := &Hook{classes: filepath.Join(dir, "classes"), out: filepath.Join(dir, "facts")}
	source := filepath.Join(root, "compat-tests", "versions", "facts", "java", "org", "gust", "facts", "Report.java")
	// Release 11 is what the topologies are compiled for.
	cmd := exec.CommandContext(ctx, "javac", "-nowarn", "--release", "11", "-d", h.classes, "-cp", filepath.Join(home, "lib-worker", "*"), source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the hook: %w\n%s", err, out)
	}
	return h, nil
}

// Conf is what a topology's conf must have for its workers to report, as -c
// of storm jar takes it. The resource may be "".
func (h *Hook) Conf(resource string) map[string]string {
	conf := map[string]string{
		"topology.auto.task.hooks": `["org.gust.facts.Report"]`,
		"topology.classpath":       h.classes,
		"facts.out":                h.out,
	}
	if resource != "" {
		conf["facts.resource"] = resource
	}
	return conf
}

// Read gives what the worker with this pid said, false when it has not yet.
func (h *Hook) Read(pid int) (Facts, bool, error) {
	files, err := filepath.Glob(filepath.Join(h.out, fmt.Sprintf("%d-*", pid)))
	if err != nil || len(files) == 0 {
		return Facts{}, false, err
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return Facts{}, false, fmt.Errorf("read facts: %w", err)
	}
	var f Facts
	into := map[string]*string{"java": &f.Java, "home": &f.JavaHome, "storm": &f.Storm, "refresh": &f.Refresh, "resource": &f.Resource}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if field, ok := into[name]; ok {
			*field = value
		}
	}
	return f, true, nil
}
