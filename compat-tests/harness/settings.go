// SPDX-License-Identifier: Apache-2.0

// This file writes the storm.yaml that both kinds of cluster get.

package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/internal/testbed"
)

// Slots is the number of workers that a cluster of the harness can run.
const Slots = 4

// Settings are the folders and ports of one cluster on this machine.
type Settings struct {
	Dir        string // holds all that the cluster writes
	Nimbus     int
	Supervisor int
	ZooKeeper  int
	Slots      []int
	// More are entries that are added to storm.yaml, in YAML.
	More []string
}

// newSettings picks free ports. They are free only at this moment, which is
// enough on a machine that gives others away by itself.
func newSettings(dir string, more []string) (Settings, error) {
	ports, err := testbed.Ports(3 + Slots)
	if err != nil {
		return Settings{}, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Settings{}, fmt.Errorf("pick folders: %w", err)
	}
	return Settings{Dir: abs, Nimbus: ports[0], Supervisor: ports[1], ZooKeeper: ports[2], Slots: ports[3:], More: more}, nil
}

// Conf is the folder with storm.yaml.
func (s Settings) Conf() string { return filepath.Join(s.Dir, "conf") }

// Logs is storm.log.dir.
func (s Settings) Logs() string { return filepath.Join(s.Dir, "logs") }

// Local is storm.local.dir.
func (s Settings) Local() string { return filepath.Join(s.Dir, "local") }

// write makes the folders and storm.yaml. Intervals are short where a longer
// one would only make tests wait.
func (s Settings) write() error {
	for _, dir := range []string{s.Conf(), s.Logs(), s.Local()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make folders of a cluster: %w", err)
		}
	}
	slots := make([]string, len(s.Slots))
	for i, port := range s.Slots {
		slots[i] = strconv.Itoa(port)
	}
	lines := append([]string{
		`storm.local.hostname: "localhost"`,
		`storm.local.dir: "` + s.Local() + `"`,
		`storm.log.dir: "` + s.Logs() + `"`,
		`nimbus.seeds: ["localhost"]`,
		fmt.Sprintf("nimbus.thrift.port: %d", s.Nimbus),
		`storm.zookeeper.servers: ["localhost"]`,
		fmt.Sprintf("storm.zookeeper.port: %d", s.ZooKeeper),
		`dev.zookeeper.path: "` + filepath.Join(s.Dir, "zookeeper") + `"`,
		fmt.Sprintf("supervisor.thrift.port: %d", s.Supervisor),
		"supervisor.slots.ports: [" + strings.Join(slots, ", ") + "]",
		"nimbus.monitor.freq.secs: 1",
		"supervisor.monitor.frequency.secs: 1",
		"supervisor.worker.shutdown.sleep.secs: 1",
		`worker.childopts: "-Xmx192m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"`,
		`topology.worker.logwriter.childopts: "-Xmx16m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"`,
	}, s.More...)
	path := filepath.Join(s.Conf(), "storm.yaml")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return fmt.Errorf("write storm.yaml: %w", err)
	}
	return nil
}
