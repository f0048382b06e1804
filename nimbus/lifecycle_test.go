// SPDX-License-Identifier: Apache-2.0

package nimbus_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/nimbustest"
	"github.com/gust-stream/gust/thrift/storm"
)

// status is the status of the topology wc.
func status(t *testing.T, c *storm.NimbusClient) string {
	t.Helper()
	s, err := c.GetTopologySummaryByName(t.Context(), "wc")
	if err != nil {
		t.Fatalf("find wc: %v", err)
	}
	return s.Status
}

func TestActivateAndDeactivate(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	id := nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	for _, step := range []struct {
		call func() error
		want storm.TopologyStatus
	}{
		{func() error { return c.Activate(t.Context(), "wc") }, storm.TopologyStatus_ACTIVE},
		{func() error { return c.Deactivate(t.Context(), "wc") }, storm.TopologyStatus_INACTIVE},
		{func() error { return c.Deactivate(t.Context(), "wc") }, storm.TopologyStatus_INACTIVE},
		{func() error { return c.Activate(t.Context(), "wc") }, storm.TopologyStatus_ACTIVE},
	} {
		if err := step.call(); err != nil {
			t.Fatal(err)
		}
		base, err := site.State.Storm(t.Context(), id)
		if err != nil || base.Status != step.want {
			t.Fatalf("stored state is %v, %v, want %v", base, err, step.want)
		}
	}
	for name, call := range map[string]func() error{
		"Kill":       func() error { return c.KillTopology(t.Context(), "nope") },
		"Activate":   func() error { return c.Activate(t.Context(), "nope") },
		"Deactivate": func() error { return c.Deactivate(t.Context(), "nope") },
		"Rebalance":  func() error { return c.Rebalance(t.Context(), "nope", &storm.RebalanceOptions{}) },
		"Debug":      func() error { return c.Debug(t.Context(), "nope", "", true, 10) },
		"Credentials": func() error {
			return c.UploadNewCredentials(t.Context(), "nope", &storm.Credentials{Creds: map[string]string{}})
		},
		"InfoByName": func() error { _, err := c.GetTopologyInfoByName(t.Context(), "nope"); return err },
	} {
		err := call()
		if e, ok := errors.AsType[*storm.NotAliveException](err); !ok || e.Msg != "nope is not alive" {
			t.Errorf("%s of an unknown name says %v", name, err)
		}
	}
}

func TestKilledTopologyWaits(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	sup := site.Supervisor(t, "sup-1", 6700)
	id := nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	nimbustest.Until(t, "it is assigned", func() bool { return sup.Executors(id) > 0 })
	if err := c.KillTopologyWithOpts(t.Context(), "wc", &storm.KillOptions{WaitSecs: new(int32(1))}); err != nil {
		t.Fatal(err)
	}
	if s := status(t, c); s != "KILLED" {
		t.Errorf("status is %s", s)
	}
	if ok, err := c.IsTopologyNameAllowed(t.Context(), "wc"); err != nil || ok {
		t.Errorf("the name is free before the removal: %v, %v", ok, err)
	}
	var app thrift.TApplicationException
	if err := c.Activate(t.Context(), "wc"); !errors.As(err, &app) || app.TypeId() != thrift.INTERNAL_ERROR {
		t.Errorf("activate of a killed topology says %v", err)
	}
	site.StopNimbus() // the wait must not be forgotten
	site.StartNimbus(t, nil)
	c = site.Client(t)
	nimbustest.Until(t, "it is removed", func() bool {
		list, err := c.GetTopologySummaries(t.Context())
		return err == nil && len(list) == 0
	})
	nimbustest.Until(t, "the supervisor is told", func() bool { return sup.Executors(id) == 0 })
	if a, err := site.State.Assignment(t.Context(), id); err != nil || a != nil {
		t.Errorf("assignment is %v, %v", a, err)
	}
}

func TestRebalance(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	sup := site.Supervisor(t, "sup-1", 6700, 6701, 6702)
	topology := nimbustest.WordCount(1, 4, 2)
	id := nimbustest.Submit(t, c, "wc", nil, topology)
	nimbustest.Until(t, "it is assigned", func() bool { return sup.Executors(id) == 8 })
	before, err := c.GetTopologyConf(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	overrides := `{"topology.max.spout.pending":77,"topology.submitter.user":"root","storm.id":"x"}`
	err = c.Rebalance(t.Context(), "wc", &storm.RebalanceOptions{
		WaitSecs: new(int32(0)), NumWorkers: new(int32(3)), NumExecutors: map[string]int32{"split": 2}, TopologyConfOverrides: &overrides,
		TopologyResourcesOverrides: map[string]map[string]float64{"count": {"onheap.memory.mb": 200}},
	})
	if err != nil {
		t.Fatal(err)
	}
	nimbustest.Until(t, "it is active again on three workers", func() bool {
		s, err := c.GetTopologySummaryByName(t.Context(), "wc")
		return err == nil && s.Status == "ACTIVE" && s.NumWorkers == 3 && s.NumExecutors == 6
	})
	nimbustest.Until(t, "the supervisor is told", func() bool { return sup.Executors(id) == 6 })
	base, err := site.State.Storm(t.Context(), id)
	if err != nil || base.NumWorkers != 3 || base.ComponentExecutors["split"] != 2 || base.PrevStatus != nil {
		t.Errorf("stored state is %v, %v", base, err)
	}
	heap := 0.0
	for _, r := range sup.Pushed()[id].WorkerResources {
		heap += r.GetMemOnHeap()
	}
	if heap != 4*128+2*200 {
		t.Errorf("workers have %v MB of heap together", heap)
	}
	after, err := c.GetTopologyConf(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	have, want := parse(t, after), parse(t, before)
	want["topology.max.spout.pending"] = int64(77)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("conf after the rebalance (-want +have):\n%s", diff)
	}
	site.StopNimbus()
	site.StartNimbus(t, nil)
	stored, err := site.Client(t).GetTopologyConf(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, parse(t, stored)); diff != "" {
		t.Errorf("stored conf (-want +have):\n%s", diff)
	}
}

func parse(t *testing.T, text string) config.Conf {
	t.Helper()
	conf, err := config.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

func TestRefusedRebalances(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	text := func(s string) *string { return &s }
	for want, options := range map[string]*storm.RebalanceOptions{
		"Invalid component zzz for topology wc, valid values are count,split,spout": {NumExecutors: map[string]int32{"zzz": 1}},
		"Number of executors must be greater than 0":                                {NumExecutors: map[string]int32{"split": 0}},
		"Field TOPOLOGY_MAX_SPOUT_PENDING must be":                                  {TopologyConfOverrides: text(`{"topology.max.spout.pending":-1}`)},
		"The conf overrides for topology wc are not valid":                          {TopologyConfOverrides: text(`{`)},
		"Key not found: nokey":                                                      {TopologyConfOverrides: text(`{"topology.blobstore.map":{"nokey":{}}}`)},
		"com.evil.Strategy":                                                         {TopologyConfOverrides: text(`{"topology.scheduler.strategy":"com.evil.Strategy"}`)},
		"must not be negative":                                                      {TopologyResourcesOverrides: map[string]map[string]float64{"split": {"cpu.pcore.percent": -1}}},
		"TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB":                                          {TopologyResourcesOverrides: map[string]map[string]float64{"split": {"onheap.memory.mb": 99999}}},
	} {
		err := c.Rebalance(t.Context(), "wc", options)
		if e, ok := errors.AsType[*storm.InvalidTopologyException](err); !ok || !strings.Contains(e.Msg, want) {
			t.Errorf("rebalance says %v, want an InvalidTopologyException with %q", err, want)
		}
		if s := status(t, c); s != "ACTIVE" {
			t.Fatalf("status is %s after a refused rebalance", s)
		}
	}
}

// TestStateOfATopologyStaysSmall fills the state of a topology with what callers may add to it: it can still be killed.
func TestStateOfATopologyStaysSmall(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	executors := map[string]int32{}
	for range 20 {
		executors["__"+noise(50_000)] = 1
	}
	err := c.Rebalance(t.Context(), "wc", &storm.RebalanceOptions{NumExecutors: executors})
	if refused, ok := errors.AsType[*storm.InvalidTopologyException](err); !ok || !strings.Contains(refused.Msg, "at most") {
		t.Errorf("a rebalance that the state has no room for says %v", err)
	}
	for _, size := range []int{100_000, 1000, 10} { // until not even a little fits
		for debugged := 0; c.Debug(t.Context(), "wc", noise(size), true, 1) == nil; debugged++ {
			if debugged > 1000 {
				t.Fatalf("%d components of %d characters are debugged", debugged, size)
			}
		}
	}
	zero := int32(0)
	if err := c.KillTopologyWithOpts(t.Context(), "wc", &storm.KillOptions{WaitSecs: &zero}); err != nil {
		t.Errorf("kill says %v", err)
	}
	nimbustest.Until(t, "the topology is gone", func() bool {
		allowed, err := c.IsTopologyNameAllowed(t.Context(), "wc")
		return err == nil && allowed
	})
}

// noise is text that does not get shorter by more than a quarter when it is packed.
func noise(size int) string {
	out := make([]byte, size)
	for i := range out {
		out[i] = byte(' ' + rand.IntN('~'-' '))
	}
	return string(out)
}

func TestRebalanceSurvivesARestart(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	if err := c.Deactivate(t.Context(), "wc"); err != nil {
		t.Fatal(err)
	}
	if err := c.Rebalance(t.Context(), "wc", &storm.RebalanceOptions{WaitSecs: new(int32(1)), NumWorkers: new(int32(2))}); err != nil {
		t.Fatal(err)
	}
	if s := status(t, c); s != "REBALANCING" {
		t.Errorf("status is %s", s)
	}
	site.StopNimbus()
	site.StartNimbus(t, nil)
	c = site.Client(t)
	nimbustest.Until(t, "the rebalance is done", func() bool { return status(t, c) == "INACTIVE" })
}

func TestLogLevelsCredentialsAndDebug(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	id := nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	info := "INFO"
	level := func(a storm.LogLevelAction, secs int32) *storm.LogLevel {
		return &storm.LogLevel{Action: a, TargetLogLevel: &info, ResetLogLevelTimeoutSecs: &secs}
	}
	set := func(name string, l *storm.LogLevel) error {
		return c.SetLogConfig(t.Context(), id, &storm.LogConfig{NamedLoggerLevel: map[string]*storm.LogLevel{name: l}})
	}
	for _, name := range []string{"ROOT", "com.example"} {
		if err := set(name, level(storm.LogLevelAction_UPDATE, 30)); err != nil {
			t.Fatal(err)
		}
	}
	levels, err := c.GetLogConfig(t.Context(), id)
	if err != nil || len(levels.NamedLoggerLevel) != 2 || levels.NamedLoggerLevel["ROOT"].Action != storm.LogLevelAction_UNCHANGED ||
		levels.NamedLoggerLevel["com.example"].GetResetLogLevelTimeoutEpoch() == 0 {
		t.Errorf("log levels are %v, %v", levels, err)
	}
	if err := set("ROOT", level(storm.LogLevelAction_REMOVE, 0)); err != nil {
		t.Fatal(err)
	}
	if levels, err = c.GetLogConfig(t.Context(), id); err != nil || len(levels.NamedLoggerLevel) != 1 {
		t.Errorf("log levels are %v, %v", levels, err)
	}
	if err := set("", level(storm.LogLevelAction_UPDATE, 0)); err == nil {
		t.Errorf("a logger without a name was taken")
	}
	for _, creds := range []map[string]string{{"a": "1", "b": "2"}, {"b": "3"}} {
		if err := c.UploadNewCredentials(t.Context(), "wc", &storm.Credentials{Creds: creds}); err != nil {
			t.Fatal(err)
		}
	}
	creds, err := site.State.Credentials(t.Context(), id)
	if err != nil || cmp.Diff(map[string]string{"a": "1", "b": "3"}, creds.Creds) != "" {
		t.Errorf("credentials are %v, %v", creds, err)
	}
	other := "somebody else"
	err = c.UploadNewCredentials(t.Context(), "wc", &storm.Credentials{Creds: map[string]string{}, TopoOwner: &other})
	if _, ok := errors.AsType[*storm.AuthorizationException](err); !ok {
		t.Errorf("credentials of another owner: %v", err)
	}
	for range 2 {
		if err := c.Debug(t.Context(), "wc", "", true, 10); err != nil {
			t.Fatal(err)
		}
	}
	base, err := site.State.Storm(t.Context(), id)
	if err != nil || base.ComponentDebug[id].GetSamplingpct() != 20 || !base.ComponentDebug[id].GetEnable() {
		t.Errorf("debug options are %v, %v", base.ComponentDebug, err)
	}
}
