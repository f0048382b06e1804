// SPDX-License-Identifier: Apache-2.0

// Compiling and starting the Java programs of this folder.

package thrift

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// version is the Storm release that is asked where the environment names no home.
const version = "2.8.3"

// classPath is the worker class path of a Storm home: $GUST_STORM_HOME, or
// build/storm-home/2.8.3 of this checkout. It ends the test when there is none.
func classPath(tb testing.TB) string {
	tb.Helper()
	home := os.Getenv("GUST_STORM_HOME")
	if home == "" {
		dir, err := os.Getwd()
		if err != nil {
			tb.Fatalf("find a Storm home: %v", err)
		}
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			home = filepath.Join(dir, "build", "storm-home", version)
			if _, err := os.Stat(home); err == nil {
				break
			}
		}
	}
	lib := filepath.Join(home, "lib-worker")
	if _, err := os.Stat(lib); err != nil {
		tb.Fatalf("no Storm home of %s (make storm-home lays it out): %v", version, err)
	}
	return filepath.Join(lib, "*")
}

// java compiles one program of java/ and makes the command that runs it. Its
// log ends up in the test's when the test fails. It ends with its input, which the
// caller closes.
func java(tb testing.TB, program string, args ...string) *exec.Cmd {
	tb.Helper()
	jars, classes := classPath(tb), tb.TempDir()
	javac := exec.CommandContext(tb.Context(), "javac", "-nowarn", "-d", classes, "-cp", jars, filepath.Join("java", program+".java"))
	if out, err := javac.CombinedOutput(); err != nil {
		tb.Fatalf("compile %s: %v\n%s", program, err, out)
	}
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), "java", append([]string{
		"-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes + string(filepath.ListSeparator) + jars, program,
	}, args...)...)
	var output bytes.Buffer
	cmd.Stderr = &output
	tb.Cleanup(func() {
		if tb.Failed() {
			text := output.Bytes()
			tb.Logf("log of %s:\n%s", program, text[max(0, len(text)-8000):])
		}
	})
	return cmd
}
