// SPDX-License-Identifier: Apache-2.0

// This file runs the script that installs what a machine lacks, on machines that are made up.

package stormhome

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/harness"
)

// fakeApt notes what it is asked for; fakeCache knows the packages in $HAS.
const (
	fakeApt   = "#!/bin/bash\necho \"$*\" >>\"$APT_CALLS\"\n[ \"$1\" != \"$APT_FAILS\" ] || { echo 'E: no network'; exit 100; }\n"
	fakeCache = "#!/bin/bash\nfor p in $HAS; do if [ \"$p\" = \"$2\" ]; then echo \"$p | 1 | here\"; fi; done\n"
)

// machine is a PATH with the tools that the script itself needs, fakes of the package manager, and scripts by name.
func machine(t *testing.T, tools map[string]string) (path string) {
	t.Helper()
	path = t.TempDir()
	for _, name := range []string{"bash", "sed", "head", "tail", "mktemp", "rm", "id", "env"} {
		tool, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(tool, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	tools["sudo"] = "#!/bin/bash\nshift\nexec \"$@\"\n" // for a test that does not run as root
	for name, text := range tools {
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// setup runs the script and gives its status, what it said, and what the package manager was asked for.
func setup(t *testing.T, path string, env ...string) (status int, said, asked string) {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	calls := filepath.Join(t.TempDir(), "calls")
	cmd := exec.CommandContext(t.Context(), filepath.Join(path, "bash"), filepath.Join(root, "scripts", "setup"))
	cmd.Env = append([]string{"PATH=" + path, "APT_CALLS=" + calls}, env...)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(calls)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return status, string(out), string(text)
}

func TestSetupTakesTheNewestJDK(t *testing.T) {
	t.Parallel()
	const rest = "maven python3 python3-venv nodejs unzip procps gcc libc6-dev thrift-compiler redis-server"
	for name, test := range map[string]struct{ has, want string }{
		"Debian12": {"openjdk-17-jdk-headless", "openjdk-17-jdk-headless"},
		"Debian13": {"openjdk-21-jdk-headless openjdk-25-jdk-headless", "openjdk-25-jdk-headless"},
		"Other":    {"openjdk-11-jdk-headless", "default-jdk-headless"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := machine(t, map[string]string{"apt-get": fakeApt, "apt-cache": fakeCache})
			status, said, asked := setup(t, path, "HAS="+test.has)
			want := "update\ninstall -y --no-install-recommends " + rest + " " + test.want + "\n"
			if diff := cmp.Diff(want, asked); diff != "" || status != 0 {
				t.Errorf("status %d, asked for (-want +got):\n%s", status, diff)
			}
			if !strings.Contains(said, "of those that this system has, "+test.want+" is taken") || !strings.Contains(said, "installing "+rest+" "+test.want) {
				t.Errorf("it says %q", said)
			}
		})
	}
}

func TestSetupWithAnOldJDK(t *testing.T) {
	t.Parallel()
	tools := map[string]string{"apt-get": fakeApt, "apt-cache": fakeCache}
	for _, name := range []string{"javac", "mvn", "python3", "node", "unzip", "ps", "gcc", "thrift", "redis-server"} {
		tools[name] = "#!/bin/bash\n"
	}
	for version, want := range map[string]string{"11.0.2": "openjdk-17-jdk-headless", "17.0.1": "", "25": ""} {
		tools["java"] = "#!/bin/bash\necho 'openjdk version \"" + version + "\" 2030-01-01'\n"
		status, said, asked := setup(t, machine(t, tools), "HAS=openjdk-17-jdk-headless")
		if status != 0 || strings.Contains(asked, "install") != (want != "") || !strings.HasSuffix(strings.TrimSpace(asked), want) {
			t.Errorf("with Java %s: status %d, said %q, asked for %q", version, status, said, asked)
		}
		if want == "" && said != "" {
			t.Errorf("all is there, and it says %q", said)
		}
	}
}

func TestSetupFaults(t *testing.T) {
	t.Parallel()
	path := machine(t, map[string]string{"apt-get": fakeApt, "apt-cache": fakeCache})
	if status, said, _ := setup(t, path, "APT_FAILS=update"); status != 1 || !strings.Contains(said, "E: no network") || !strings.Contains(said, "apt-get update failed") {
		t.Errorf("without a network: status %d, %q", status, said)
	}
	status, said, _ := setup(t, machine(t, map[string]string{}))
	if status != 1 || !strings.Contains(said, "a JDK of version 17 or newer, maven") {
		t.Errorf("without apt-get: status %d, %q", status, said)
	}
}
