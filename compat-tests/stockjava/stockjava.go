// SPDX-License-Identifier: Apache-2.0

// This file finds stock Storm, compiles drivers and talks to them.

package stockjava

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
)

// limit bounds one driver run; hundreds of questions take a few seconds.
const limit = 4 * time.Minute

// Lib gives the folder with the jars of the stock server side. It ends the test
// when there is none.
func Lib(t testing.TB) string {
	t.Helper()
	home, err := testbed.Stock()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(home, "lib")
}

// Ask compiles the Java files under sources, runs class main with the questions
// on its stdin, one a line, and gives back its answers, as many as questions.
func Ask(t testing.TB, sources, main string, questions [][]byte) [][]byte {
	t.Helper()
	lib := filepath.Join(Lib(t), "*")
	classes := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	compile(ctx, t, sources, lib, classes)

	cmd := exec.CommandContext(ctx, "java", "-Xmx256m", "-XX:TieredStopAtLevel=1",
		"-Dorg.apache.logging.log4j.level=ERROR", "-cp", classes+":"+lib, main)
	cmd.Stdin = bytes.NewReader(append(bytes.Join(questions, []byte("\n")), '\n'))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("run %s: %v\n%s", main, err, tail(errs.String()))
	}
	var answers [][]byte
	sc := bufio.NewScanner(&out)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		answers = append(answers, bytes.Clone(sc.Bytes()))
	}
	if err := sc.Err(); err != nil {
		t.Fatalf("read answers of %s: %v", main, err)
	}
	if len(answers) != len(questions) {
		t.Fatalf("%s gave %d answers to %d questions\n%s", main, len(answers), len(questions), tail(errs.String()))
	}
	return answers
}

func compile(ctx context.Context, t testing.TB, sources, lib, classes string) {
	t.Helper()
	args := []string{"-nowarn", "-d", classes, "-cp", lib}
	err := filepath.WalkDir(sources, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".java") {
			args = append(args, path)
		}
		return err
	})
	if err != nil {
		t.Fatalf("list Java sources: %v", err)
	}
	if out, err := exec.CommandContext(ctx, "javac", args...).CombinedOutput(); err != nil {
		t.Fatalf("compile driver in %s: %v\n%s", sources, err, out)
	}
}

// tail keeps the end of a driver's log, where the reason of a failure is.
func tail(log string) string {
	const keep = 4000
	if len(log) > keep {
		return fmt.Sprintf("... %s", log[len(log)-keep:])
	}
	return log
}
