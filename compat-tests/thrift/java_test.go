// SPDX-License-Identifier: Apache-2.0

// Compiling and starting the Java programs of this folder.

package thrift

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// java compiles one program of java/ and makes the command that runs it. Its
// log ends up in the test's when the test fails. It ends with its input, which the
// caller closes.
func java(tb testing.TB, program string, args ...string) *exec.Cmd {
	tb.Helper()
	home, err := testbed.Home()
	if err != nil {
		tb.Fatal(err)
	}
	jars, classes := filepath.Join(home, "lib-worker", "*"), tb.TempDir()
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
