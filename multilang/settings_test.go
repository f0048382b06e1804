// SPDX-License-Identifier: Apache-2.0

package multilang

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/multilang/codec"
	"github.com/gust-stream/gust/multilang/component"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	defaults, err := ParseSettings(config.Conf{})
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		MaxMessage: 64 << 20, MaxTaskIDs: 4 << 20, Timeout: 30 * time.Second, StartTimeout: 300 * time.Second, MaxPending: 100,
		KillWait: 3 * time.Second, Beat: time.Second,
	}
	if diff := cmp.Diff(want, defaults.withDefaults()); diff != "" {
		t.Error(diff)
	}
	got, err := ParseSettings(config.Conf{
		"gust.multilang.serializer": "msgpack", "gust.multilang.stray.output": "log", "gust.multilang.log.level": "WARN",
		"gust.multilang.child.memory.mb": 512, "gust.multilang.message.max.bytes": 1000, "gust.multilang.start.timeout.secs": 60,
		"topology.subprocess.timeout.secs": 5, "supervisor.worker.timeout.secs": 7, "topology.shellbolt.max.pending": 9,
		"supervisor.worker.shutdown.sleep.secs": 2, "topology.multilang.log.handler": "com.example.Handler",
	})
	if err != nil {
		t.Fatal(err)
	}
	want = Settings{
		Format: codec.Msgpack, LogStray: true, LogLevel: component.Warn, MemoryMB: 512, MaxMessage: 1000, StartTimeout: time.Minute,
		Timeout: 5 * time.Second, MaxPending: 9, KillWait: 2 * time.Second,
		Warnings: []string{"topology.multilang.log.handler is not followed, since com.example.Handler is a Java class: log messages go to the worker's log, see gust.multilang.log.level"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s, err := ParseSettings(config.Conf{"supervisor.worker.timeout.secs": 7}); err != nil || s.Timeout != 7*time.Second {
		t.Errorf("%v, %v", s.Timeout, err)
	}
}

func TestSettingsOfJavaSerializers(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]string{
		"org.apache.storm.multilang.JsonSerializer":     "json",
		"com.parsely.streamparse.MessagePackSerializer": "msgpack",
		"com.example.MsgpackSerializer":                 "msgpack",
		"com.example.Avro":                              "say in gust.multilang.serializer which format it writes",
	} {
		s, err := ParseSettings(config.Conf{"topology.multilang.serializer": class})
		got := s.Format.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", class, got)
		}
	}
	if s, err := ParseSettings(config.Conf{"topology.multilang.serializer": "com.example.Avro", "gust.multilang.serializer": "json"}); err != nil || s.Format != codec.JSON {
		t.Error("our key does not come first")
	}
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	_, err := ParseSettings(config.Conf{"gust.multilang.serializer": "xml", "gust.multilang.stray.output": "drop", "gust.multilang.log.level": "loud"})
	for _, want := range []string{`gust.multilang.serializer is "xml"`, `gust.multilang.stray.output is "drop"`, `gust.multilang.log.level is "loud"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	var b Backoff
	var got []time.Duration
	for range 12 {
		got = append(got, b.Next(time.Second))
	}
	ms := time.Millisecond
	want := []time.Duration{0, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, 30000 * ms, 30000 * ms}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if b.Next(time.Hour) != 0 {
		t.Error("a long life is not forgiven")
	}
}
