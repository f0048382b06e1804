// SPDX-License-Identifier: Apache-2.0

// This file runs the classes behind Storm's own storm script.

package client

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/ledger"
)

// limit bounds what a test waits for; workers of a busy machine take their time.
const limit = 3 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// step is one command of a session.
type step struct {
	// command has the class, a "*" before it if it runs without an end, and its arguments.
	command []string
	// then, if not nil, waits until what the command set off has happened.
	then func(*session) error
}

func run(command ...string) step { return step{command: command} }

func (s step) do(then func(*session) error) step {
	s.then = then
	return s
}

// until waits for a status of words.
func (s step) until(status string) step {
	return s.do(func(on *session) error { return on.status("words", status) })
}

// steps is what an operator does with two topologies, words and python, that run, and one that does not.
func steps(dir string) []step {
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	return []step{
		run("ListTopologies"),
		run("*Monitor", "words", "-i", "1"), // with -m it shows numbers, but only when the worker has run for a minute
		run("*Monitor", "words", "-i", "1", "-m", "zzz"),
		run("Deactivate", "words").until("INACTIVE"),
		run("ListTopologies"),
		run("Activate", "words").until("ACTIVE"),
		run("Activate", "nope"),
		run("Deactivate", "nope"),
		run("SetLogLevel", "words", "-l", "org.gust=DEBUG:30"),
		run("SetLogLevel", "words", "-r", "org.gust"),
		run("SetLogLevel", "nope", "-l", "ROOT=WARN:0"),
		run("GetErrors", "words").do(func(on *session) error { return on.harm() }),
		run("GetErrors", "python"),
		run("GetErrors", "nope"),
		run("UploadCredentials", "words", "user", "sesame"),
		run("UploadCredentials", "nope", "user", "sesame"),
		run("Rebalance", "words", "-w", "0", "-n", "2", "-e", "split=1", "-t", `{"topology.max.spout.pending": 50}`).until("ACTIVE"),
		run("Rebalance", "words", "-e", "zzz=1"),
		run("Rebalance", "words", "-e", "split=0"),
		run("Rebalance", "nope"),
		run("Blobstore", "create", "one", "-f", one, "-a", "o::rwa"),
		run("Blobstore", "create", "one", "-f", one, "-a", "o::rwa"),
		run("Blobstore", "create", "a/b", "-f", one),
		run("Blobstore", "cat", "one"),
		run("Blobstore", "update", "one", "-f", two),
		run("Blobstore", "cat", "one"),
		run("Blobstore", "set-acl", "one", "-s", "u:someone:rwa,o::r"),
		run("Blobstore", "list", "one"),
		run("Blobstore", "replication", "--read", "one"),
		run("Blobstore", "replication", "--update", "one", "-r", "2"),
		run("Blobstore", "unknown", "one"),
		run("Blobstore", "delete", "one"),
		run("Blobstore", "cat", "one"),
		run("Blobstore", "update", "one", "-f", two),
		run("Blobstore", "delete", "one"),
		run("KillTopology", "python", "-w", "600"),
		run("ListTopologies"),
		run("Activate", "python"),
		run("KillTopology", "python", "words", "-w", "0").until(""),
		run("KillTopology", "words"),
		run("KillTopology", "words", "-i"),
		run("ListTopologies"),
	}
}

// TestCommands compares what Storm's commands print on gust with what they print on stock.
func TestCommands(t *testing.T) {
	mode := os.Getenv("GUST_COMPAT")
	path := filepath.Join("testdata", harness.Version+".txt")
	var want string
	switch mode {
	case "":
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want = string(text)
	case "live", "record":
		cluster, err := harness.NewStock(t.TempDir())
		want = operate(t, cluster, err)
	default:
		t.Fatalf("GUST_COMPAT is %q: not record, live or empty", mode)
	}
	if mode == "record" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	cluster, err := harness.NewGust(t.TempDir())
	if diff := cmp.Diff(want, operate(t, cluster, err)); diff != "" {
		t.Errorf("(-stock +gust):\n%s", diff)
	}
}

// operate plays the session on a cluster and gives its transcript.
func operate(t *testing.T, cluster harness.Cluster, err error) string {
	t.Helper()
	if err != nil {
		t.Fatalf("prepare cluster: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	defer func() {
		if err := cluster.Stop(); err != nil {
			t.Errorf("stop %s: %v", cluster.Kind(), err)
		}
	}()
	if err := cluster.Start(ctx); err != nil {
		t.Fatalf("start %s: %v", cluster.Kind(), err)
	}
	work := t.TempDir()
	for name, main := range map[string]string{"words": "WordCount", "python": "PythonWordCount"} {
		if err := submit(ctx, cluster, main, name, filepath.Join(work, name)); err != nil {
			t.Fatalf("%s: %v", cluster.Kind(), err)
		}
	}
	for _, name := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte("this is "+name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	on, err := openSession(ctx, t, cluster)
	if err != nil {
		t.Fatal(err)
	}
	transcript, err := on.play(steps(work))
	if err := on.close(); err != nil {
		t.Errorf("end of the session: %v", err)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", cluster.Kind(), err, transcript)
	}
	return strings.ReplaceAll(transcript, work, "<dir>")
}

// submit submits a topology that takes minutes and waits for its first ack. All of it runs on Java, as with stock: what differs where it
// does not is known by diffs.
func submit(ctx context.Context, cluster harness.Cluster, main, name, out string) error {
	_, err := harness.Submit(ctx, cluster, harness.Submission{
		Main: "org.gust.compat." + main,
		Args: []string{name, out, "compat.rows=60000", "compat.pause.ms=5", "gust.topology.worker.engine=java"},
	})
	if err != nil {
		return err
	}
	return awaitAck(ctx, out)
}

func awaitAck(ctx context.Context, out string) error {
	return harness.Await(ctx, "an ack", func() (bool, error) {
		book, err := ledger.Read(out)
		return len(book.Verb("sentences", "acked")) > 0, err
	})
}

// session is a JVM that runs commands.
type session struct {
	ctx   context.Context // a session is one test's
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
	user  string // who submits and owns
	local string // storm.local.dir of the cluster
}

// openSession starts it over a storm.yaml that says where Nimbus is and nothing else.
func openSession(ctx context.Context, t *testing.T, cluster harness.Cluster) (*session, error) {
	t.Helper()
	home, err := harness.StockHome()
	if err != nil {
		return nil, err
	}
	conf, classes := t.TempDir(), t.TempDir()
	yaml := fmt.Sprintf("nimbus.seeds: [\"localhost\"]\nnimbus.thrift.port: %d\n", cluster.Settings().Nimbus)
	if err := os.WriteFile(filepath.Join(conf, "storm.yaml"), []byte(yaml), 0o644); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "javac", "-nowarn", "-d", classes, filepath.Join("java", "Commands.java")).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the driver: %w\n%s", err, out)
	}
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	s := &session{ctx: ctx, user: me.Username, local: cluster.Settings().Local()}
	s.cmd = exec.CommandContext(ctx, "java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dstorm.home="+home,
		"-Dlog4j.configurationFile="+filepath.Join("java", "log4j2.xml"),
		"-cp", strings.Join([]string{filepath.Join(home, "lib", "*"), conf, classes}, ":"), "Commands")
	s.cmd.Stderr = os.Stderr
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	return s, s.cmd.Start()
}

// close ends the JVM.
func (s *session) close() error {
	if err := s.stdin.Close(); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// say runs one command and gives what it printed.
func (s *session) say(command []string) (string, error) {
	if _, err := io.WriteString(s.stdin, strings.Join(command, "\t")+"\n"); err != nil {
		return "", fmt.Errorf("run %v: %w", command, err)
	}
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("run %v: %w", command, err)
		}
		if answer, ok := strings.CutPrefix(line, "="); ok {
			text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(answer))
			return string(text), err
		}
	}
}

// play runs the steps and gives the transcript: each command, and below it what it printed.
func (s *session) play(steps []step) (string, error) {
	var transcript strings.Builder
	for _, step := range steps {
		said, err := s.say(step.command)
		if err != nil {
			return transcript.String(), err
		}
		fmt.Fprintf(&transcript, "$ %s\n%s", strings.Join(step.command, " "), mask(said, s.user))
		if step.then != nil {
			if err := step.then(s); err != nil {
				return transcript.String(), err
			}
		}
	}
	return transcript.String(), nil
}

// status waits until a topology has a status, "" for being gone.
func (s *session) status(topology, want string) error {
	return harness.Await(s.ctx, topology+" to be "+want, func() (bool, error) {
		list, err := s.say([]string{"ListTopologies"})
		if err != nil {
			return false, err
		}
		for line := range strings.Lines(list) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == topology {
				return fields[1] == want, nil
			}
		}
		return want == "", nil
	})
}

// harm kills a Python child of the topology python and waits until its error is known.
func (s *session) harm() error {
	pids, err := filepath.Glob(filepath.Join(s.local, "workers", "*", "pids", "*"))
	if err != nil {
		return err
	}
	children := 0
	for _, path := range pids {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			return fmt.Errorf("pid file %s: %w", path, err)
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.Contains(string(line), "split_words.py") {
			children++
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				return fmt.Errorf("kill Python child %d: %w", pid, err)
			}
		}
	}
	if children == 0 {
		return fmt.Errorf("no Python child among %v", pids)
	}
	return harness.Await(s.ctx, "the error of a child", func() (bool, error) {
		said, err := s.say([]string{"GetErrors", "python"})
		return strings.Contains(said, `"split"`), err
	})
}

// mask hides what differs from run to run and the widths of columns.
func mask(text, user string) string {
	for _, m := range []struct{ pattern, with string }{
		{`(words|python)-\d+-\d{10}`, "$1-<id>"},
		{`(?m)^((?:words|python)\s+\S+\s+\d+\s+\d+\s+)\d+`, "${1}<secs>"},                            // uptime
		{`(?m)^\tat .*\n`, ""},                                                                       // stack traces
		{`"split":"java\.(?:lang\.RuntimeException|io\.IOException)[^"]*"`, `"split":"<exception>"`}, // which one depends on the thread that sees it
		{`[ \t]+`, " "},
		{`(?m) ` + regexp.QuoteMeta(user) + ` $`, " <owner>"}, // columns end in a blank
	} {
		text = regexp.MustCompile(m.pattern).ReplaceAllString(text, m.with)
	}
	return sorted(text)
}

// sorted gives the lines of a list of topologies a fixed order: stock's is by chance.
func sorted(text string) string {
	lines := strings.SplitAfter(text, "\n")
	first := slices.IndexFunc(lines, func(line string) bool { return strings.HasSuffix(line, "<owner>\n") })
	if first >= 0 {
		slices.Sort(lines[first : len(lines)-1])
	}
	return strings.Join(lines, "")
}
