// SPDX-License-Identifier: Apache-2.0

package container

// Tests of twins: with scripts in place of a JVM, and once with the real one and Storm's classes.

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/testbed"
)

// standsBy is a "java" that writes a log as a JVM does before any class is loaded, and then does as a twin does.
const standsBy = `echo gc > artifacts/gc.log
printf uw >&0
[ "$(head -c 1)" = g ] || exit 0
printf b >&0
echo works
echo more >> artifacts/later.log
exec sleep 1000`

// prepare starts a twin that is gone at the end of the test, and listens until it is warm. The channel tells what Listen
// answers.
func (s *site) prepare(t *testing.T, cmd Command) (*Twin, <-chan bool) {
	t.Helper()
	twin, err := s.Prepare(cmd)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	stages, ended := make(chan Stage, 2), make(chan bool, 1)
	go func() { ended <- twin.Listen(ctx, func(stage Stage) { stages <- stage }) }()
	t.Cleanup(func() {
		cancel()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		must(t, twin.Discard(ctx))
		<-twin.quiet
	})
	for _, want := range []Stage{Up, Warm} {
		select {
		case stage := <-stages:
			if stage != want {
				t.Fatalf("twin is at stage %d, not %d", stage, want)
			}
		case <-time.After(patience):
			t.Fatalf("twin does not come to stage %d", want)
		}
	}
	return twin, ended
}

func TestTwinBecomesWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t, standsBy)
	s.run(t)
	cmd := s.command()
	artifacts := s.layout.WorkerArtifacts(cmd.Topology.ID, cmd.Port)
	must(t, os.MkdirAll(artifacts, 0o755))
	for _, name := range []string{"gc.log", "worker.pid", "worker.yaml"} {
		must(t, os.WriteFile(filepath.Join(artifacts, name), []byte("of the worker before"), 0o600))
	}
	twin, ended := s.prepare(t, cmd)
	args := argv(twin.Pid())
	if i := slices.Index(args, twinClass); i < 0 || args[i+1] != "org.apache.storm.daemon.worker.Worker" || args[len(args)-1] != cmd.WorkerID {
		t.Errorf("twin runs as %s", quote(args))
	}
	if i := slices.Index(args, "-cp"); !strings.HasSuffix(args[i+1], "/stormjar.jar:"+filepath.Join(s.layout.Supervisor(), "launcher", filepath.Base(args[i+1]))) {
		t.Errorf("class path is %s", args[i+1])
	}
	for _, name := range []string{"gc.log", "worker.pid", "worker.yaml"} {
		if got := content(t, artifacts, name); got != "of the worker before" {
			t.Errorf("%s of the running worker is now %q", name, got)
		}
	}
	for _, path := range []string{s.layout.WorkerPids(cmd.WorkerID), s.layout.WorkerHeartbeats(cmd.WorkerID), s.layout.WorkerUser(cmd.WorkerID)} {
		if exists(path) {
			t.Errorf("twin has %s already", path)
		}
	}

	w, err := twin.Release()
	must(t, err)
	if <-ended {
		t.Error("Listen says that a twin which was released has ended")
	}
	if w.Pid() != twin.Pid() || w.ID() != cmd.WorkerID || !runs(w.Pid()) {
		t.Errorf("worker %s has the pid %d, the twin %s has %d", w.ID(), w.Pid(), twin.ID(), twin.Pid())
	}
	await(t, "the worker's output", func() bool {
		return exists(filepath.Join(artifacts, "later.log")) && content(t, artifacts, "later.log") == "more\n" &&
			content(t, artifacts, outputName) == "works\n"
	})
	got := map[string]string{}
	for _, name := range []string{"gc.log", "gc.log.old", "later.log"} {
		got[name] = content(t, artifacts, name)
	}
	if diff := cmp.Diff(map[string]string{"gc.log": "gc\n", "gc.log.old": "of the worker before", "later.log": "more\n"}, got); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
	if notes := content(t, artifacts, "worker.yaml"); !strings.Contains(notes, cmd.WorkerID) {
		t.Errorf("worker.yaml is %s", notes)
	}
	for _, path := range []string{filepath.Join(artifacts, "worker.pid"), twinArtifacts(s.layout, cmd)} {
		if exists(path) {
			t.Errorf("%s is left", path)
		}
	}
	for _, path := range []string{s.layout.WorkerPids(cmd.WorkerID), s.layout.WorkerHeartbeats(cmd.WorkerID), s.layout.WorkerUser(cmd.WorkerID)} {
		if !exists(path) {
			t.Errorf("worker lacks %s", path)
		}
	}
	own, err := niceness(0)
	must(t, err)
	if n, err := niceness(w.Pid()); err != nil || n != own {
		t.Errorf("worker has the niceness %d, not %d: %v", n, own, err)
	}
	kill(t, w, 0)
	awaitDone(t, w)
	must(t, w.CleanUp())
}

func TestTwinEndsByItself(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		end    func(*testing.T, *Twin)
		exit   string
	}{
		"Supervisor gone": {standsBy, func(t *testing.T, twin *Twin) { t.Helper(); must(t, twin.conn.Close()) }, "exited with code 0"},
		"Killed": {standsBy, func(t *testing.T, twin *Twin) {
			t.Helper()
			p, err := os.FindProcess(twin.Pid())
			must(t, err)
			must(t, p.Kill())
		}, "ended by signal killed"},
		"Killed, with a child": {"sleep 1000 & printf uw >&0; wait", func(t *testing.T, twin *Twin) {
			t.Helper()
			await(t, "a child", func() bool {
				members, err := twin.w.members()
				must(t, err)
				return len(members) == 2
			})
			p, err := os.FindProcess(twin.Pid())
			must(t, err)
			must(t, p.Kill())
		}, "ended by signal killed"},
		"Gives up": {"printf uw >&0; sleep 0.2; exit 3", func(*testing.T, *Twin) {}, "exited with code 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, tc.script)
			s.run(t)
			twin, ended := s.prepare(t, s.command())
			tc.end(t, twin)
			// Of a socket that was closed here, there is nothing to hear.
			if got := <-ended; got != (name != "Supervisor gone") {
				t.Errorf("Listen says %t", got)
			}
			awaitDone(t, twin.w)
			if exit := twin.Exit(t.Context()); exit != tc.exit {
				t.Errorf("twin %s, not %s", exit, tc.exit)
			}
		})
	}
}

func TestTwinLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *site, *Twin){
		"Discarded": func(t *testing.T, _ *site, twin *Twin) { t.Helper(); must(t, twin.Discard(t.Context())) },
		"Ended as nobody's by the next supervisor": func(t *testing.T, s *site, twin *Twin) {
			t.Helper()
			next := s.again(t)
			next.run(t)
			w, err := next.Adopt(twin.ID())
			must(t, err)
			kill(t, w, 0)
			must(t, w.CleanUp())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, standsBy)
			s.run(t)
			cmd := s.command()
			twin, _ := s.prepare(t, cmd)
			end(t, s, twin)
			if runs(twin.Pid()) {
				t.Error("twin runs")
			}
			ids, err := s.ListWorkers()
			must(t, err)
			if len(ids) > 0 || exists(twinArtifacts(s.layout, cmd)) {
				t.Errorf("folders of %v are left, of artifacts: %t", ids, exists(twinArtifacts(s.layout, cmd)))
			}
		})
	}
}

func TestTwinIsNotReleased(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		change func(*testing.T, *site)
		want   string
	}{
		"Conf changed": {standsBy, func(t *testing.T, s *site) {
			t.Helper()
			must(t, os.MkdirAll(s.host.ConfDir, 0o755))
			must(t, os.WriteFile(filepath.Join(s.host.ConfDir, "storm.yaml"), []byte("{}\n"), 0o600))
		}, "storm.yaml has changed"},
		"Deaf":     {"printf uw >&0; exec sleep 1000", func(*testing.T, *site) {}, os.ErrDeadlineExceeded.Error()},
		"Gives up": {"printf uw >&0; head -c 1; exit 3", func(*testing.T, *site) {}, "EOF"},
		"Disk refuses": {standsBy, func(t *testing.T, s *site) {
			t.Helper()
			must(t, os.MkdirAll(filepath.Join(s.layout.WorkerArtifacts("wc-1-1", 6700), "worker.yaml", "x"), 0o755))
		}, "worker.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, tc.script)
			s.run(t)
			twin, _ := s.prepare(t, s.command())
			tc.change(t, s)
			if _, err := twin.Release(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Release says %v, not %s", err, tc.want)
			}
			must(t, twin.Discard(t.Context()))
			if runs(twin.Pid()) {
				t.Error("twin runs")
			}
		})
	}
}

func TestTwinObstacles(t *testing.T) {
	t.Parallel()
	for options, ok := range map[string]bool{
		"":                                                          true,
		"-Xmx64m -Xloggc:artifacts/gc.log":                          true,
		"-Xlog:gc*:file=gc.log:time":                                true,
		"-Xlog:gc*:file=/var/log/%p.log":                            true,
		"-Xlog:gc:/var/log/%WORKER-ID%.log":                         true,
		"-XX:HeapDumpPath=/var/dumps":                               true,
		"-Xlog:gc*:file=/var/log/gc.log":                            false,
		`-Xlog:gc*:"/var/log/gc.log"`:                               false,
		"-Xloggc:/var/log/gc-%ID%.log":                              false,
		"-javaagent:jmx.jar=9%ID%:conf.yaml":                        false,
		"-agentlib:jdwp=transport=dt_socket,server=y,address=1%ID%": false,
		"-Dcom.sun.management.jmxremote.port=1%ID%":                 false,
		"-XX:+AlwaysPreTouch":                                       false,
	} {
		for _, where := range []string{"Conf", "Environment"} {
			t.Run(where+" "+options, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, standsBy, func(c *Config) {
					if where == "Environment" {
						c.Environ = append(c.Environ, "JAVA_TOOL_OPTIONS="+strings.ReplaceAll(options, "%WORKER-ID%", "%p"))
					}
				})
				s.run(t)
				cmd := s.command()
				if where == "Conf" {
					cmd.Topology.Conf = config.Conf{config.TopologyWorkerChildopts: options}
				}
				if ok {
					s.prepare(t, cmd)
					return
				}
				_, err := s.Prepare(cmd)
				if err == nil || !strings.Contains(err.Error(), "cannot both have the option -") {
					t.Errorf("Prepare says %v", err)
				}
				if ids, err := s.ListWorkers(); err != nil || len(ids) > 0 {
					t.Errorf("folders are left: %v, %v", ids, err)
				}
			})
		}
	}
}

func TestTwinThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	s := newSite(t, standsBy)
	s.run(t)
	must(t, os.Chmod(filepath.Join(s.host.JavaHome, "bin", "java"), 0o600))
	if _, err := s.Prepare(s.command()); !errors.Is(err, os.ErrPermission) && !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("Prepare says %v", err)
	}
	cmd := s.command()
	cmd.WorkerID = "../x"
	if _, err := s.Prepare(cmd); err == nil {
		t.Error("a worker id with a path was taken")
	}
	if ids, err := s.ListWorkers(); err != nil || len(ids) > 0 {
		t.Errorf("folders are left: %v, %v", ids, err)
	}
}

func TestTwinJarIsWrittenOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, standsBy)
	path, err := twinJar(s.layout)
	must(t, err)
	before, err := os.Stat(path)
	must(t, err)
	again, err := twinJar(s.layout)
	must(t, err)
	after, err := os.Stat(again)
	must(t, err)
	if !os.SameFile(before, after) {
		t.Errorf("%s was written again as %s", path, again)
	}
	must(t, os.WriteFile(path, []byte("damaged"), 0o600))
	_, err = twinJar(s.layout)
	must(t, err)
	if info, err := os.Stat(path); err != nil || info.Size() != before.Size() {
		t.Errorf("a damaged jar stays: %v, %v", info, err)
	}
}

// TestTwinClassIsOfItsSource compiles the source and compares what the classes do, since compilers number things differently.
func TestTwinClassIsOfItsSource(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	source, class := filepath.Join("launcher", "Twin.java"), filepath.Join("launcher", "Twin.class")
	if text, err := exec.CommandContext(t.Context(), "javac", "--release", "11", "-g:none", "-d", out, source).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v: %s", err, text)
	}
	number := regexp.MustCompile(`#\d+`)
	show := func(path string) string {
		text, err := exec.CommandContext(t.Context(), "javap", "-c", "-p", "-constants", path).Output()
		must(t, err)
		return number.ReplaceAllString(string(text), "#")
	}
	if diff := cmp.Diff(show(filepath.Join(out, "org/gust/launcher/Twin.class")), show(class)); diff != "" {
		t.Errorf("launcher/make.sh has to be run: the class is not of its source (-source +class):\n%s", diff)
	}
}

// TestTwinOfStorm has a real JVM load Storm's classes and become a worker, which finds no topology and ends.
func TestTwinOfStorm(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	java, err := exec.LookPath("java")
	must(t, err)
	java, err = filepath.EvalSymlinks(java)
	must(t, err)
	s.host.JavaHome = filepath.Dir(filepath.Dir(java))
	s.host.StormHome, err = testbed.Home()
	must(t, err)
	must(t, os.MkdirAll(s.host.ConfDir, 0o755))
	must(t, os.WriteFile(filepath.Join(s.host.ConfDir, "storm.yaml"), []byte("{}\n"), 0o600))
	s.run(t)
	cmd := s.command()
	cmd.Topology.Conf = config.Conf{config.TopologyWorkerChildopts: "-Xmx128m -Xlog:gc:artifacts/gc.log"}
	twin, _ := s.prepare(t, cmd)
	artifacts := s.layout.WorkerArtifacts(cmd.Topology.ID, cmd.Port)
	entries, err := os.ReadDir(artifacts)
	must(t, err)
	for _, entry := range entries {
		if name := entry.Name(); name != outputName && name != errorName && name != filepath.Base(twinArtifacts(s.layout, cmd)) {
			t.Errorf("twin made %s beside the worker's files", name)
		}
	}
	for _, path := range openFiles(t, twin.Pid()) {
		name := filepath.Base(path)
		if strings.HasPrefix(path, artifacts) && !strings.HasPrefix(path, twinArtifacts(s.layout, cmd)) && name != outputName && name != errorName {
			t.Errorf("twin has %s open", path)
		}
		// The JDK's own socket classes hold one that leads nowhere.
		if inode, ok := strings.CutPrefix(path, "socket:["); ok {
			for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
				if strings.Contains(content(t, "/proc/net", table), " "+strings.TrimSuffix(inode, "]")+" ") {
					t.Errorf("twin has a %s socket", table)
				}
			}
		}
	}
	w, err := twin.Release()
	must(t, err)
	awaitDone(t, w)
	if text := content(t, artifacts, "worker.log"); !strings.Contains(text, "stormconf.ser") {
		t.Errorf("the worker did not log that it has no topology: %s", text)
	}
	if !exists(filepath.Join(artifacts, "gc.log")) {
		t.Error("the JVM's own log is not among the artifacts")
	}
}

// openFiles tells what a process has open.
func openFiles(t *testing.T, pid int) []string {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	must(t, err)
	var paths []string
	for _, entry := range entries {
		if path, err := os.Readlink(filepath.Join(dir, entry.Name())); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}
