// SPDX-License-Identifier: Apache-2.0

package nimbus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gust-stream/gust/internal/testbed"
	"github.com/gust-stream/gust/nimbus/nimbustest"
	"github.com/gust-stream/gust/thrift/storm"
)

// java runs one of Storm's commands against the site and returns what it printed.
func java(t *testing.T, site *nimbustest.Site, class string, args ...string) string {
	t.Helper()
	conf := t.TempDir()
	text := fmt.Sprintf("nimbus.seeds: [%q]\nnimbus.thrift.port: %d\nstorm.local.hostname: %q\n", nimbustest.Host, site.Port(), nimbustest.Host)
	if err := os.WriteFile(filepath.Join(conf, "storm.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	home, err := testbed.Stock()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), nimbustest.Limit)
	defer cancel()
	line := append([]string{
		"-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dorg.apache.logging.log4j.level=ERROR", "-Dstorm.log.dir=" + conf,
		"-cp", filepath.Join(home, "lib", "*") + ":" + conf, "org.apache.storm.command." + class,
	}, args...)
	out, err := exec.CommandContext(ctx, "java", line...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", class, args, err, out)
	}
	return string(out)
}

// TestStormsOwnClient runs Storm's own commands, which are what the storm script starts.
func TestStormsOwnClient(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	sup := site.Supervisor(t, "sup-1", 6700, 6701)
	id := nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 2, 1))
	nimbustest.Until(t, "it is assigned", func() bool { return sup.Executors(id) == 5 })

	if out := java(t, site, "ListTopologies"); !strings.Contains(out, id) || !strings.Contains(out, "ACTIVE") {
		t.Errorf("list says:\n%s", out)
	}
	java(t, site, "Deactivate", "wc")
	if s := status(t, c); s != "INACTIVE" {
		t.Errorf("after deactivate the status is %s", s)
	}
	java(t, site, "Activate", "wc")
	java(t, site, "Rebalance", "wc", "-w", "0", "-n", "2", "-e", "split=1")
	nimbustest.Until(t, "it is rebalanced", func() bool { return sup.Executors(id) == 4 && status(t, c) == "ACTIVE" })
	java(t, site, "SetLogLevel", "wc", "-l", "com.example=DEBUG:30")
	levels, err := c.GetLogConfig(t.Context(), id)
	if err != nil || levels.NamedLoggerLevel["com.example"].GetTargetLogLevel() != "DEBUG" {
		t.Errorf("log levels are %v, %v", levels, err)
	}
	if out := java(t, site, "GetErrors", "wc"); !strings.Contains(out, `"Topology Name":"wc"`) {
		t.Errorf("get-errors says:\n%s", out)
	}
	java(t, site, "UploadCredentials", "wc", "user", "pass")
	creds, err := site.State.Credentials(t.Context(), id)
	if err != nil || creds.GetCreds()["user"] != "pass" {
		t.Errorf("credentials are %v, %v", creds, err)
	}
	content := filepath.Join(t.TempDir(), "words")
	if err := os.WriteFile(content, []byte(strings.Repeat("word ", 50_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	java(t, site, "Blobstore", "create", "-f", content, "words")
	if got := getBlob(t, c); len(got) != 250_000 {
		t.Errorf("the uploaded blob has %d bytes", len(got))
	}
	if out := java(t, site, "Blobstore", "list"); !strings.Contains(out, "words") {
		t.Errorf("blobstore list says:\n%s", out)
	}
	java(t, site, "KillTopology", "wc", "-w", "0")
	nimbustest.Until(t, "it is removed", func() bool {
		_, err := c.GetTopologySummaryByName(t.Context(), "wc")
		_, gone := errors.AsType[*storm.NotAliveException](err)
		return gone
	})
}
