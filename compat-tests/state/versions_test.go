// SPDX-License-Identifier: Apache-2.0

// This file runs the plug-in's JAR on the class paths of several Storm releases.

package state

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/internal/testbed"
)

func TestStormReleases(t *testing.T) {
	b := newBed(t, nil, false)
	for _, c := range []struct{ release, kryo string }{{"2.4.0", "3"}, {"2.6.4", "5"}, {testbed.Version, "5"}} {
		t.Run(c.release, func(t *testing.T) {
			home, err := testbed.Find("", filepath.Join("build", "storm-home", c.release), "lib-worker", "make storm-home storm-older")
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(home, "lib-worker", "*")
			classes := strings.Split(compile(t, "java"), ":")[0]
			run := func(topology string) string {
				// The plug-in itself comes from the JAR: it was compiled against the oldest release, whose Kryo needs java.util open.
				cmd := exec.Command("java", "-Xmx64m", "-XX:+UseSerialGC", "--add-opens=java.base/java.util=ALL-UNNAMED", "-Dorg.apache.logging.log4j.level=OFF",
					"-cp", filepath.Join(home, "extlib", "gust-state.jar")+":"+classes+":"+path, "io.github.guststream.state.Small", b.socket, topology)
				var errs strings.Builder
				cmd.Stderr = &errs
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%v\n%s", err, errs.String())
				}
				return string(out)
			}
			topology := "on-" + c.release
			want := "{}\n1 [a, 2] null default\ndefault; kryo " + c.kryo + "\n"
			if diff := cmp.Diff(want, run(topology)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			want = strings.Replace(want, "{}", "{list=[a, 2], none=null, word=1}", 1)
			if diff := cmp.Diff(want, run(topology)); diff != "" {
				t.Errorf("after a restart (-want +got):\n%s", diff)
			}
		})
	}
}
