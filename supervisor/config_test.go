// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file checks what a supervisor makes of a conf.

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
)

func TestFromConf(t *testing.T) {
	t.Parallel()
	conf, err := config.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	conf[config.StormLocalHostname] = "worker7"
	conf[config.StormHealthCheckDir] = "checks"
	conf[config.DrpcPort] = int64(9)
	conf[config.NimbusThriftTlsServerKeystorePassword] = "secret"
	cfg, err := FromConf(conf, config.Sources{StormHome: "/opt/storm", Of: map[string]string{
		config.DrpcPort: "override", config.NimbusThriftTlsServerKeystorePassword: "override", "gust.state.dir": "override",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Hostname != "worker7" || cfg.ThriftPort != 6628 || cfg.ThriftThreads != 16 || cfg.NimbusPort != 6627 ||
		!slices.Equal(cfg.Ports, []int{6700, 6701, 6702, 6703}) || cfg.InfoEvery != 5*time.Second || cfg.PollEvery != 10*time.Second ||
		cfg.StartTimeout != 2*time.Minute || cfg.WorkerTimeout != 30*time.Second || cfg.Slot.KillGrace != 3*time.Second ||
		cfg.Health.Dir != "/opt/storm/checks" || cfg.TaskRefreshSecs != 1 || cfg.KillWorkersOnStop {
		t.Errorf("defaults give %+v", cfg)
	}
	if diff := cmp.Diff(map[string]float64{"memory.mb": 4096, "cpu.pcore.percent": 400}, cfg.Resources); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(config.Conf{config.DrpcPort: int64(9)}, cfg.Overrides); diff != "" {
		t.Errorf("overrides that workers get (-want +got):\n%s", diff)
	}
	cfg, err = FromConf(conf, config.Sources{Of: map[string]string{config.TaskRefreshPollSecs: "/etc/storm/storm.yaml"}})
	if err != nil || cfg.TaskRefreshSecs != 0 {
		t.Errorf("a user's own task.refresh.poll.secs becomes %d, %v", cfg.TaskRefreshSecs, err)
	}
}

func TestFromConfNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := FromConf(config.Conf{
		config.StormLocalHostname: "h", config.NimbusThriftPort: int64(0), config.SupervisorSlotsPorts: []any{int64(6700), int64(6700), int64(70000)},
		config.SupervisorWorkerTimeoutSecs: int64(0), config.NimbusAuthorizer: "a.b.C", config.SupervisorRunWorkerAsUser: true,
	}, config.Sources{})
	if err == nil {
		t.Fatal("no fault was found")
	}
	for _, want := range []string{
		config.NimbusSeeds, config.NimbusThriftPort, "6700 is there twice", "70000 is not a port", config.SupervisorWorkerTimeoutSecs,
		config.SupervisorAuthorizer, config.SupervisorRunWorkerAsUser,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not name %q: %v", want, err)
		}
	}
}
