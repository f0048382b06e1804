// SPDX-License-Identifier: Apache-2.0

// The comparison.

package zookeeper

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// buildSuite builds the Java program if a source is newer than it, and returns its
// class path, which has the real server on it too.
func buildSuite(t *testing.T) string {
	t.Helper()
	jar, list := filepath.Join("target", "suite.jar"), filepath.Join("target", "classpath")
	built := time.Time{}
	if st, err := os.Stat(jar); err == nil {
		if _, err := os.Stat(list); err == nil {
			built = st.ModTime()
		}
	}
	stale := built.IsZero()
	check := func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil && st.ModTime().After(built) {
			stale = true
		}
		return err
	}
	for _, root := range []string{"src", "pom.xml"} {
		if err := filepath.WalkDir(root, check); err != nil {
			t.Fatal(err)
		}
	}
	if stale {
		if out, err := exec.Command("mvn", "-q", "-B", "package").CombinedOutput(); err != nil {
			t.Fatalf("mvn package: %v\n%s", err, out)
		}
	}
	b, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	return jar + string(os.PathListSeparator) + strings.TrimSpace(string(b))
}

// ask runs the Java program against a server and returns what it prints.
func ask(t *testing.T, c *contender, classPath string, sections ...string) []string {
	t.Helper()
	c.up(t)
	defer func() { c.kill() }()
	args := append([]string{"-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classPath, "org.gust.compat.zookeeper.Suite", c.addr}, sections...)
	cmd := exec.Command("java", args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	var lines []string
	for in := bufio.NewScanner(stdout); in.Scan(); {
		if in.Text() == "@restart" {
			c.kill()
			c.up(t)
			if _, err := stdin.Write([]byte("done\n")); err != nil {
				t.Fatal(err)
			}
			continue
		}
		lines = append(lines, in.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("suite against %s: %v\n%s", c.name, err, &errs)
	}
	if errs.Len() > 0 {
		t.Logf("suite against %s says:\n%s", c.name, &errs)
	}
	return lines
}

// TestSuite asks both servers everything.
func TestSuite(t *testing.T) {
	t.Parallel()
	classPath := buildSuite(t)
	var sections []string
	if s := os.Getenv("GUST_ZOOKEEPER_SECTIONS"); s != "" { // for work on one of them
		sections = strings.Split(s, ",")
	}
	contenders := []*contender{ours(t), theirs(t, classPath)}
	answers := make([][]string, len(contenders))
	var wg sync.WaitGroup
	for i, c := range contenders {
		wg.Go(func() { answers[i] = ask(t, c, classPath, sections...) })
	}
	wg.Wait()
	got, want := answers[0], answers[1]
	// An equal failure on both sides proves nothing.
	if len(sections) == 0 && len(want) < 400 {
		t.Errorf("the real server gave only %d answers", len(want))
	}
	for _, line := range want {
		if strings.Contains(line, "section ends with") {
			t.Errorf("the real server: %s", line)
		}
	}
	if len(want) == 0 || want[len(want)-1] != "end" {
		t.Error("the suite did not reach its end on the real server")
	}
	got, want = expected(t, got, want, len(sections) == 0)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers differ (-theirs +ours):\n%s", diff)
	}
	if dir := os.Getenv("GUST_ZOOKEEPER_KEEP"); dir != "" {
		for i, c := range contenders {
			if err := os.WriteFile(filepath.Join(dir, c.name+".txt"), []byte(strings.Join(answers[i], "\n")+"\n"), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
}
