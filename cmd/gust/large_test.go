// SPDX-License-Identifier: Apache-2.0

// More executors on one machine than fit into a frame of Storm's.

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/testbed"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/nimbus/nimbustest"
)

// TestFortyThousandExecutors takes assignments of more than Storm's 1 MiB from Nimbus to the slots that start their workers, which
// are no real ones. It changes the environment, so it does not run in parallel.
func TestFortyThousandExecutors(t *testing.T) {
	const each = 20_000 // a topology has at most 32,767 tasks
	java := filepath.Join(t.TempDir(), "bin", "java")
	err := errors.Join(os.Mkdir(filepath.Dir(java), 0o755), os.WriteFile(java, []byte("#!/bin/sh\nexec sleep 600\n"), 0o755)) //nolint:gosec // a program
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("JAVA_HOME", filepath.Dir(filepath.Dir(java)))
	ports, err := testbed.Ports(5)
	if err != nil {
		t.Fatal(err)
	}
	home, err := testbed.Home()
	if err != nil {
		t.Fatal(err)
	}
	local := t.TempDir()
	conf, sources, err := config.Load(config.Options{StormHome: home, Overrides: config.Conf{
		config.StormLocalDir: local, config.StormLogDir: t.TempDir(), config.StormLocalHostname: "localhost",
		config.NimbusThriftPort: int64(ports[0]), config.SupervisorThriftPort: int64(ports[1]), config.StormZookeeperPort: int64(ports[2]),
		config.SupervisorSlotsPorts: []any{int64(ports[3]), int64(ports[4])}, config.GustWorkerCdsEnabled: false,
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	log := zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel))
	err = runDev(ctx, devSite{conf: conf, sources: sources, bind: "127.0.0.1", log: log}, func(ctx context.Context) error {
		nimbus, err := dialNimbus(ctx, conf)
		if err != nil {
			return err
		}
		defer hangUp(nimbus)
		for _, name := range []string{"first", "second"} {
			nimbustest.Submit(t, nimbus.NimbusClient, name, config.Conf{config.GustTopologyWorkerEngine: "java"},
				nimbustest.WordCount(1, 10_000, each-10_000-2))
		}
		state := localstate.New(localstate.Layout{Local: local}.State(), time.Now, log)
		nimbustest.Until(t, "the slots to run them", func() bool {
			slots, err := state.LocalAssignments()
			run := 0
			for _, slot := range slots {
				run += len(slot.Executors)
			}
			return err == nil && run == 2*each
		})
		stop()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
