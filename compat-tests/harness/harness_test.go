// SPDX-License-Identifier: Apache-2.0

// This file tests what needs no cluster.

package harness

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSettingsWrite(t *testing.T) {
	t.Parallel()
	s, err := newSettings(t.TempDir(), []string{"topology.workers: 2"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.write(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.Conf(), "storm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var conf map[string]any
	if err := yaml.Unmarshal(text, &conf); err != nil {
		t.Fatalf("storm.yaml: %v\n%s", err, text)
	}
	if conf["topology.workers"] != 2 || conf["nimbus.thrift.port"] != s.Nimbus || conf["storm.local.dir"] != s.Local() {
		t.Errorf("storm.yaml: %v", conf)
	}
	ports := append([]int{s.Nimbus, s.Supervisor, s.ZooKeeper}, s.Slots...)
	slices.Sort(ports)
	if len(slices.Compact(ports)) != 3+Slots {
		t.Errorf("ports are not all different: %v", ports)
	}
}
