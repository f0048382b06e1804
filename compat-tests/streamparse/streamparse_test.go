// SPDX-License-Identifier: Apache-2.0

package streamparse_test

// Tests of streamparse's commands and of its components.

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/site"
	"github.com/gust-stream/gust/internal/testbed"
)

const limit = 3 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// project is a streamparse project.
type project struct {
	dir, children string
}

// sparse runs one of streamparse's commands.
func (p project) sparse(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	bin := filepath.Join(p.children, "venv", "bin")
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "sparse"), args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "LEIN_ROOT=1", "PYTHONWARNINGS=ignore", "COLUMNS=400", "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("sparse %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// quickstart makes a project and points it at a Nimbus. Nothing else of it is touched. Its virtual environment is one that is there already.
func quickstart(t *testing.T, nimbus int) project {
	t.Helper()
	children, err := testbed.Find("GUST_MULTILANG_CHILDREN", filepath.Join("build", "multilang"), "venv", "make multilang-children")
	if err != nil {
		t.Fatal(err)
	}
	p := project{dir: t.TempDir(), children: children}
	p.sparse(t, "quickstart", "wordcount")
	p.dir = filepath.Join(p.dir, "wordcount")
	file := filepath.Join(p.dir, "config.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var conf struct {
		Serializer   string                    `json:"serializer"`
		Topologies   string                    `json:"topology_specs"`
		Virtualenvs  string                    `json:"virtualenv_specs"`
		Environments map[string]map[string]any `json:"envs"`
	}
	if err := json.Unmarshal(text, &conf); err != nil {
		t.Fatal(err)
	}
	prod := conf.Environments["prod"]
	prod["nimbus"] = fmt.Sprintf("127.0.0.1:%d", nimbus)
	prod["use_ssh_for_nimbus"] = false
	prod["virtualenv_root"], prod["virtualenv_name"], prod["install_virtualenv"] = children, "venv", false
	if text, err = json.Marshal(conf); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // a file of a test
		t.Fatal(err)
	}
	return p
}

// jar packs the project's sources as Leiningen does.
func (p project) jar(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "wordcount.jar")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(out)
	sources := os.DirFS(filepath.Join(p.dir, "src"))
	err = fs.WalkDir(sources, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sources, name)
		if err != nil {
			return err
		}
		w, err := z.Create("resources/" + name)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

var counted = regexp.MustCompile(`counted \[([0-9,]+)\] words \[pid=([0-9]+)\]`)

// counters are the pids of the bolt's children that wrote into a worker's log.
func counters(t *testing.T, dir string) map[string]bool {
	t.Helper()
	pids := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(entry.Name(), ".log") || !strings.Contains(path, "workers-artifacts") {
			return nil //nolint:nilerr // a file that went away
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // a file that went away
		}
		for _, match := range counted.FindAllStringSubmatch(string(text), -1) {
			pids[match[2]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

func TestQuickstartOnJavaWorkers(t *testing.T) { quickstartRuns(t, "java") }

func TestQuickstartOnGoWorkers(t *testing.T) { quickstartRuns(t, "go") }

func quickstartRuns(t *testing.T, engine string) {
	t.Helper()
	s, err := site.New(site.Options{Dir: t.TempDir(), Dev: true, Slots: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := quickstart(t, s.NimbusPort)
	out := p.sparse(t, "submit", "-j", p.jar(t), "-o", "gust.topology.worker.engine="+engine)
	if !strings.Contains(out, "Submitting wordcount topology to nimbus...done") {
		t.Errorf("sparse submit says\n%s", out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	err = harness.Await(ctx, "both tasks of the bolt to count words", func() (bool, error) { return len(counters(t, s.Dir)) == 2, nil })
	if err != nil {
		t.Fatal(err)
	}
	// The table breaks its words.
	if list := p.sparse(t, "list"); !strings.Contains(list, "| wordc | wordc | 4 ") || !strings.Contains(list, "| ACTI | ") {
		t.Errorf("sparse list says\n%s", list)
	}
	workers, err := testbed.Workers(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if java := len(workers) > 0; java != (engine == "java") {
		t.Errorf("%d Java workers", len(workers))
	}
	p.sparse(t, "kill", "--wait", "1")
	err = harness.Await(ctx, "the topology to be gone, with its children", func() (bool, error) {
		for pid := range counters(t, s.Dir) {
			if _, err := os.Stat("/proc/" + pid); err == nil {
				return false, nil
			}
		}
		return strings.Contains(p.sparse(t, "list"), "No topologies found"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
