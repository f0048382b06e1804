// SPDX-License-Identifier: Apache-2.0

// This file talks with a driver that stays: one question, one answer, as long as the test runs.

package stockjava

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Driver is a running one.
type Driver struct {
	in  io.Writer
	out *bufio.Scanner

	mu   sync.Mutex
	errs bytes.Buffer // guarded by mu
}

// Start compiles the Java files under sources and starts class main. It ends with the test, or when limit has passed.
func Start(t testing.TB, sources, main string) *Driver {
	t.Helper()
	lib := filepath.Join(Lib(t), "*")
	classes := t.TempDir()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	compile(ctx, t, sources, lib, classes)

	d := &Driver{}
	cmd := exec.CommandContext(ctx, "java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dorg.apache.logging.log4j.level=INFO",
		"-cp", classes+":"+lib, main)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = d
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.in, d.out = in, bufio.NewScanner(out)
	d.out.Buffer(nil, 64<<20)
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it is killed
	})
	return d
}

// Write takes what the driver logs.
func (d *Driver) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.errs.Write(b)
}

// Log is what the driver has logged so far.
func (d *Driver) Log() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.errs.String()
}

// Ask gives the answer to a question. What the driver throws begins with "! ", and fails the test.
func (d *Driver) Ask(t testing.TB, format string, args ...any) string {
	t.Helper()
	question := fmt.Sprintf(format, args...)
	if _, err := fmt.Fprintln(d.in, question); err != nil {
		t.Fatalf("ask %s: %v\n%s", question, err, tail(d.Log()))
	}
	if !d.out.Scan() {
		t.Fatalf("no answer to %s: %v\n%s", question, d.out.Err(), tail(d.Log()))
	}
	if thrown, ok := strings.CutPrefix(d.out.Text(), "! "); ok {
		t.Fatalf("%s: %s\n%s", question, thrown, tail(d.Log()))
	}
	return d.out.Text()
}
