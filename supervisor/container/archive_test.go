// SPDX-License-Identifier: Apache-2.0

package container

// Tests of making class-data archives: with scripts in place of a JVM, and once with the real one.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gust-stream/gust/localstate"
)

// makesArchives is a "java" that notes each call and makes what it is asked for.
const makesArchives = `echo "$1" >> "$(dirname "$0")/calls"
for a in "$@"; do case $a in -XX:SharedArchiveFile=*) f=${a#*=}; esac; done
[ "$1" = -Xshare:dump ] && echo archive > "$f"
[ -s "$f" ]`

// storm makes a home with two jars for the site.
func (s *site) storm(t *testing.T) {
	t.Helper()
	s.host.StormHome = t.TempDir()
	lib := filepath.Join(s.host.StormHome, "lib-worker")
	must(t, os.Mkdir(lib, 0o755))
	for _, name := range []string{"b.jar", "a.jar"} {
		must(t, os.WriteFile(filepath.Join(lib, name), nil, 0o600))
	}
}

func (s *site) calls(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.host.JavaHome, "bin", "calls"))
	if os.IsNotExist(err) {
		return nil
	}
	must(t, err)
	return strings.Fields(string(text))
}

func classData(c *Config) { c.ClassData = true }

func TestArchiveIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, makesArchives, classData)
	s.storm(t)
	if a := s.archives.find(s.host); a != nil {
		t.Fatalf("found %+v before anything was made", a)
	}
	// Leftovers of a crash and old archives go when a new one is made.
	must(t, os.MkdirAll(filepath.Join(s.layout.ClassData(), localstate.TempPrefix+"x"), 0o755))
	for _, name := range []string{"1.jsa", "2.jsa", "3.jsa"} {
		must(t, os.WriteFile(filepath.Join(s.layout.ClassData(), name), nil, 0o600))
	}
	second := s.again(t)
	second.archives.find(s.host)
	s.run(t)
	second.run(t)
	var found *Archive
	await(t, "an archive", func() bool { found = s.archives.find(s.host); return found != nil })
	lib := filepath.Join(s.host.StormHome, "lib-worker")
	if len(found.Jars) != 2 || found.Jars[0] != filepath.Join(lib, "a.jar") || content(t, found.File) != "archive\n" {
		t.Errorf("found %+v", found)
	}
	await(t, "a free lock", func() bool {
		unlock, ok, err := tryLock(filepath.Join(s.layout.ClassData(), "lock"))
		must(t, err)
		if ok {
			unlock()
		}
		return ok
	})
	if calls := s.calls(t); len(calls) != 2 {
		t.Errorf("java was called with %v", calls)
	}
	entries, err := os.ReadDir(s.layout.ClassData())
	if err != nil || len(entries) != 4 {
		t.Errorf("%d files, %v: want lock, two old archives and the new one", len(entries), err)
	}
	// A jar that changed makes another archive necessary.
	must(t, os.WriteFile(filepath.Join(lib, "a.jar"), []byte("changed"), 0o600))
	if a := s.archives.find(s.host); a != nil {
		t.Errorf("found %+v for other jars", a)
	}
}

func TestArchiveFailureIsRemembered(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"Dump":   makesArchives + ` && echo "no such option" && exit 1`,
		"Verify": makesArchives + ` && [ "$1" = -Xshare:dump ]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, script, classData)
			s.storm(t)
			s.run(t)
			s.archives.find(s.host)
			spec, err := newArchiveSpec(s.host)
			must(t, err)
			await(t, "the failure", func() bool { return exists(s.archives.failed(spec)) })
			calls := len(s.calls(t))
			must(t, s.archives.provide(t.Context(), spec))
			if a := s.archives.find(s.host); a != nil || len(s.archives.wanted) != 0 || len(s.calls(t)) != calls {
				t.Errorf("tried again: %+v", a)
			}
			if text := content(t, s.archives.failed(spec)); !strings.Contains(text, "exit status 1") {
				t.Errorf("remembered %q", text)
			}
		})
	}
}

func TestArchiveInterrupted(t *testing.T) {
	t.Parallel()
	s := newSite(t, `echo > "$(dirname "$0")/calls"; exec sleep 1000`, classData)
	s.storm(t)
	stop := s.run(t)
	s.archives.find(s.host)
	await(t, "java", func() bool { return exists(filepath.Join(s.host.JavaHome, "bin", "calls")) })
	stop()
	spec, err := newArchiveSpec(s.host)
	must(t, err)
	if exists(s.archives.failed(spec)) || exists(s.archives.file(spec)) {
		t.Error("a stop was taken for a failure of the JVM")
	}
}

func TestArchiveIsNotPossible(t *testing.T) {
	t.Parallel()
	s := newSite(t, makesArchives, classData)
	if a := s.archives.find(s.host); a != nil || len(s.archives.wanted) != 0 {
		t.Error("an archive of no jars is wanted")
	}
	s.host.JavaHome = "/none"
	if a := s.archives.find(s.host); a != nil || len(s.archives.wanted) != 0 {
		t.Error("an archive of no JDK is wanted")
	}
}

// stormHome finds the Storm home of the reference version.
func stormHome(t *testing.T) string {
	t.Helper()
	home := os.Getenv("GUST_STORM_HOME")
	for dir, _ := os.Getwd(); home == "" && dir != "/"; dir = filepath.Dir(dir) {
		if candidate := filepath.Join(dir, "build", "storm-home", "2.8.3"); exists(candidate) {
			home = candidate
		}
	}
	if !exists(filepath.Join(home, "lib-worker")) {
		t.Fatal("no Storm home: make storm-home lays one out, or set GUST_STORM_HOME")
	}
	return home
}

// TestArchiveOfStorm makes a real archive and has a JVM take Storm's classes from it, with more behind it on the class path.
func TestArchiveOfStorm(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", classData)
	s.host.StormHome, s.host.JavaHome = stormHome(t), os.Getenv("JAVA_HOME")
	s.cfg.Environ = os.Environ()
	spec, err := newArchiveSpec(s.host)
	must(t, err)
	must(t, s.archives.provide(t.Context(), spec))
	found := s.archives.find(s.host)
	if found == nil {
		t.Fatal("no archive was made")
	}
	cmd := s.command()
	cmd.Host.StormHome, cmd.Archive = s.host.StormHome, found
	args := build(t, cmd).Args
	loads := filepath.Join(t.TempDir(), "loads")
	// Without its arguments the worker's main ends at once.
	i := 0
	for args[i] != "org.apache.storm.daemon.worker.Worker" {
		i++
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	java := exec.CommandContext(ctx, spec.java, append([]string{"-Xlog:class+load:file=" + loads}, args[:i+1]...)...)
	if out, err := java.CombinedOutput(); err == nil {
		t.Logf("the worker ended well without arguments: %s", out)
	}
	shared, others := 0, 0
	for line := range strings.Lines(content(t, loads)) {
		_, class, _ := strings.Cut(line, " org.apache.")
		if strings.Contains(class, "source: shared objects file") {
			shared++
		} else if strings.Contains(class, "source: file:") {
			others++
		}
	}
	if shared < 100 || shared < 10*others {
		t.Errorf("%d of Storm's classes come from the archive and %d do not", shared, others)
	}
}
