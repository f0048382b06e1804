// SPDX-License-Identifier: Apache-2.0

package nimbus

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/scheduler"
)

func TestConfigFrom(t *testing.T) {
	t.Parallel()
	conf, _, err := config.Load(config.Options{Overrides: config.Conf{
		"storm.local.dir": "state", "storm.local.hostname": "me", "nimbus.thrift.port": int64(1234), "gust.nimbus.detection.timeout.secs": int64(2),
	}})
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	c, err := ConfigFrom(conf, home, "2.8.3", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if c.Host != "me" || c.Server.Addr != "127.0.0.1:1234" || c.LocalDir != filepath.Join(home, "state") || c.Detection != 2*time.Second ||
		c.TaskTimeout != 30*time.Second || c.LaunchTimeout != 120*time.Second || c.MonitorEvery != 10*time.Second || c.Scheduler != scheduler.Default {
		t.Errorf("settings are %+v", c)
	}
}

// What the owner of a cluster wants to be refused must not be let through in silence.
func TestUnknownPluginsAreRefused(t *testing.T) {
	t.Parallel()
	conf := config.Conf{
		"nimbus.authorizer": "a.Authorizer", "nimbus.topology.validator": "a.Validator", "storm.thrift.transport": "a.Transport", "storm.scheduler": "a.Scheduler",
	}
	_, err := ConfigFrom(conf, t.TempDir(), "2.8.3", "")
	if err == nil {
		t.Fatal("all of them were taken")
	}
	for key := range conf {
		if !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), conf.String(key, "?")) {
			t.Errorf("the error does not name %s: %v", key, err)
		}
	}
}
