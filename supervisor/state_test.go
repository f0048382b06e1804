// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/stateapi/server"
)

func TestStateIsKeptAsTheConfSays(t *testing.T) {
	t.Parallel()
	layout := localstate.Layout{Local: "/var/storm"}
	conf, err := config.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	want := server.MachineConfig{
		Dir: "/var/storm/state", Memory: server.MemoryFolder("/var/storm/state"), Retain: 7 * 24 * time.Hour,
	}
	if diff := cmp.Diff(want, stateConfig(conf, layout)); diff != "" {
		t.Fatal(diff)
	}
	conf[config.GustStateDir], conf[config.GustStateMemoryMaxMb], conf[config.GustStateRetainSecs] = "/mem", int64(5), int64(60)
	want = server.MachineConfig{Dir: "/var/storm/state", Memory: "/mem", MemoryMax: 5 << 20, Retain: time.Minute}
	if diff := cmp.Diff(want, stateConfig(conf, layout)); diff != "" {
		t.Fatal(diff)
	}
	environ := []string{"A=b", "GUST_STATE_SOCKET=/other", "C=d"}
	got := withSocket(environ, want)
	if diff := cmp.Diff([]string{"A=b", "C=d", "GUST_STATE_SOCKET=" + filepath.Join("/mem", "state.sock")}, got); diff != "" {
		t.Fatal(diff)
	}
	conf[config.GustStateEnabled] = false
	none := stateConfig(conf, layout)
	if diff := cmp.Diff(server.MachineConfig{}, none); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff(environ, withSocket(environ, none)); diff != "" {
		t.Fatal(diff)
	}
}
