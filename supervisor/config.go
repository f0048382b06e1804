// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file says what a supervisor is told, and reads it from a conf.

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/stateapi/server"
	"github.com/gust-stream/gust/supervisor/localizer"
	"github.com/gust-stream/gust/supervisor/slot"
	"github.com/gust-stream/gust/thrift/storm"
)

// Config is what a supervisor is told. FromConf fills it; the fields may be changed before New.
type Config struct {
	// Conf is the supervisor's whole conf; workers' command lines and limits come from it.
	Conf config.Conf
	// StormHome is the folder of the Storm that workers are run from, StormVersion the version of its jars, ConfDir the
	// folder of storm.yaml, which goes on the workers' class path.
	StormHome, StormVersion, ConfDir string
	// Layout says where on the disk everything lies, LogDir is storm.log.dir.
	Layout localstate.Layout
	LogDir string
	// JavaHome is the JDK of the workers, "" takes java from the PATH; ExtClassPath goes on their class path; Environ is
	// what they inherit.
	JavaHome, ExtClassPath string
	Environ                []string
	// GoWorker is the program of Go workers, unless a topology brings its own.
	GoWorker string
	// Overrides are the keys that the supervisor's own command line sets; workers get them too, on theirs, where all users
	// of the machine can read them: so no secrets.
	Overrides config.Conf
	// TaskRefreshSecs is how often workers ask for their assignment; 0 leaves that to their conf.
	TaskRefreshSecs int

	// Hostname is what others reach this machine by.
	Hostname string
	// BindHost is the address that the Thrift server listens on; "" is all. ThriftPort 0 takes a free port.
	BindHost   string
	ThriftPort int
	// ThriftThreads and MaxFrame bound the Thrift server: calls at a time, bytes in a frame.
	ThriftThreads, MaxFrame int

	// Ports are the slots, in the order of the conf.
	Ports []int
	// Resources is what this machine offers, by Storm's normalized names.
	Resources map[string]float64
	// SchedulerMeta is passed on to the scheduler; nil when none is configured.
	SchedulerMeta map[string]string

	// NimbusSeeds are the hosts that are asked for the leader, NimbusPort is where they listen, NimbusMaxFrame bounds a
	// frame to and from them in bytes.
	NimbusSeeds    []string
	NimbusPort     int
	NimbusMaxFrame int

	// InfoEvery, PollEvery, BeatEvery and ProfileEvery are the pauses between two writes of the supervisor's entry, two
	// polls of the assignments, two reports of heartbeats, and two looks for profile requests.
	InfoEvery, PollEvery, BeatEvery, ProfileEvery time.Duration

	// StartTimeout is the longest time to a worker's first heartbeat, WorkerTimeout that between two heartbeats; both are
	// raised by a topology's own timeout.
	StartTimeout, WorkerTimeout time.Duration
	// Slot holds the times of the slots.
	Slot slot.Config

	// Health is the check of this machine.
	Health Health

	// State says where keyed state is kept; the zero value keeps none.
	State server.MachineConfig

	// Enabled is false when no worker may be launched here (supervisor.enable).
	Enabled bool
	// KillWorkersOnStop ends all workers when Run ends. Storm leaves them to the next supervisor.
	KillWorkersOnStop bool
}

// Health says how a machine is checked: every executable file in Dir is run, and one that does not exit with 0 is a
// fault. The zero value checks nothing.
type Health struct {
	Dir           string
	Every         time.Duration
	Timeout       time.Duration // for each script
	FailOnTimeout bool
}

// FromConf reads a supervisor's settings from a conf and from what config.Load tells about it. The error names every key
// that cannot work.
func FromConf(conf config.Conf, src config.Sources) (Config, error) {
	var faults []error
	hostname, err := hostname(conf)
	self, err2 := os.Executable()
	faults = append(faults, err, err2)
	secs := func(key string, def int64) time.Duration { return time.Duration(conf.Int(key, def)) * time.Second }
	cfg := Config{
		Conf: conf, StormHome: src.StormHome, StormVersion: src.StormVersion, ConfDir: src.ConfDir,
		Layout: localstate.Layout{
			Local: config.LocalDir(conf, src.StormHome), Artifacts: config.ArtifactsDir(conf, src.StormHome),
		},
		LogDir:   config.LogDir(conf, src.StormHome),
		JavaHome: os.Getenv("JAVA_HOME"), ExtClassPath: os.Getenv("STORM_EXT_CLASSPATH"), Environ: os.Environ(),
		GoWorker: self,
		Hostname: hostname,

		ThriftPort:    int(conf.Int(config.SupervisorThriftPort, 6628)),
		ThriftThreads: int(conf.Int(config.SupervisorThriftThreads, 16)),
		MaxFrame:      int(conf.Int(config.SupervisorThriftMaxBufferSize, 1<<20)),

		Resources:     resources(conf),
		SchedulerMeta: schedulerMeta(conf),

		NimbusSeeds:    conf.Strings(config.NimbusSeeds),
		NimbusPort:     int(conf.Int(config.NimbusThriftPort, 6627)),
		NimbusMaxFrame: int(conf.Int(config.NimbusThriftMaxBufferSize, 1<<20)),

		InfoEvery:    secs(config.SupervisorHeartbeatFrequencySecs, 5),
		PollEvery:    10 * time.Second,
		BeatEvery:    time.Second,
		ProfileEvery: 3 * time.Second,

		StartTimeout:  secs(config.SupervisorWorkerStartTimeoutSecs, 120),
		WorkerTimeout: secs(config.SupervisorWorkerTimeoutSecs, 30),
		Slot:          slot.DefaultConfig(),

		Health: Health{
			Dir:           conf.String(config.StormHealthCheckDir, ""),
			Every:         30 * time.Second,
			Timeout:       time.Duration(conf.Int(config.StormHealthCheckTimeoutMs, 5000)) * time.Millisecond,
			FailOnTimeout: conf.Bool(config.StormHealthCheckFailOnTimeouts, true),
		},
		Enabled:   conf.Bool(config.SupervisorEnable, true),
		Overrides: config.Conf{},
	}
	cfg.State = stateConfig(conf, cfg.Layout)
	if from := src.Of[config.TaskRefreshPollSecs]; from == "" || from == "defaults" {
		cfg.TaskRefreshSecs = 1
	}
	for key, from := range src.Of {
		if from == "override" && !strings.HasPrefix(key, "gust.") && !config.IsSecret(key) {
			cfg.Overrides[key] = conf[key]
		}
	}
	cfg.Slot.KillGrace = secs(config.SupervisorWorkerShutdownSleepSecs, 3)
	cfg.Health.Dir = healthDir(cfg.Health.Dir, src.StormHome)
	for _, port := range conf.Ints(config.SupervisorSlotsPorts) {
		if port < 1 || port > 65535 {
			faults = append(faults, fmt.Errorf("conf key %s: %d is not a port", config.SupervisorSlotsPorts, port))
			continue
		}
		cfg.Ports = append(cfg.Ports, int(port))
	}
	return cfg, errors.Join(append(faults, cfg.check())...)
}

// check gathers everything that cannot work.
func (c Config) check() error {
	var faults []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	need(len(c.NimbusSeeds) > 0, "conf key %s: no host is named", config.NimbusSeeds)
	need(c.NimbusPort > 0 && c.NimbusPort < 65536, "conf key %s: %d is not a port", config.NimbusThriftPort, c.NimbusPort)
	need(c.ThriftPort >= 0 && c.ThriftPort < 65536, "conf key %s: %d is not a port", config.SupervisorThriftPort, c.ThriftPort)
	need(c.InfoEvery > 0, "conf key %s: must be above 0", config.SupervisorHeartbeatFrequencySecs)
	need(c.WorkerTimeout > 0, "conf key %s: must be above 0", config.SupervisorWorkerTimeoutSecs)
	need(c.Slot.KillGrace >= 0, "conf key %s: must not be below 0", config.SupervisorWorkerShutdownSleepSecs)
	seen := map[int]bool{}
	for _, port := range c.Ports {
		need(!seen[port], "conf key %s: %d is there twice", config.SupervisorSlotsPorts, port)
		seen[port] = true
	}
	need(!c.Conf.Bool(config.SupervisorRunWorkerAsUser, false), "conf key %s: workers cannot be run as other users yet", config.SupervisorRunWorkerAsUser)
	need(c.Conf.String(config.NimbusAuthorizer, "") == "" || c.Conf.String(config.SupervisorAuthorizer, "") != "",
		"conf key %s must be set because %s is", config.SupervisorAuthorizer, config.NimbusAuthorizer)
	return errors.Join(faults...)
}

// limits gives the ages at which a worker counts as hung, with a topology's own timeout taken in, and whether it has a twin,
// which the machine's conf and the topology's can both ask for. A Go worker starts faster than a twin takes over.
func (c Config) limits(t *localizer.Topology, a *storm.LocalAssignment) slot.Limits {
	beat := max(c.WorkerTimeout, time.Duration(t.Conf.Int(config.TopologyWorkerTimeoutSecs, 0))*time.Second)
	twin := c.Conf.Bool(config.GustWorkerTwinEnabled, false) || t.Conf.Bool(config.GustWorkerTwinEnabled, false)
	if twin {
		program, err := c.program(t, a)
		twin = program == "" && err == nil
	}
	return slot.Limits{FirstHeartbeat: max(c.StartTimeout, beat), Heartbeat: beat, Twin: twin}
}

// hostname is storm.local.hostname, or else the machine's full name as its resolver knows it.
func hostname(conf config.Conf) (string, error) {
	if name := conf.String(config.StormLocalHostname, ""); name != "" {
		return name, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find own host name (%s is not set): %w", config.StormLocalHostname, err)
	}
	if full, err := net.LookupCNAME(name); err == nil { //nolint:noctx // at start, before there is anything to cancel
		if full = strings.TrimSuffix(full, "."); strings.HasPrefix(full, name+".") {
			return full, nil
		}
	}
	return name, nil
}

// resources is what the machine offers, by the names that schedulers compare.
func resources(conf config.Conf) map[string]float64 {
	offer := map[string]float64{}
	for name := range conf.Map(config.SupervisorResourcesMap) {
		offer[normalName(name)] = config.Conf(conf.Map(config.SupervisorResourcesMap)).Float(name, 0)
	}
	offer[memoryResource] = conf.Float(config.SupervisorMemoryCapacityMb, 4096)
	offer[cpuResource] = conf.Float(config.SupervisorCpuCapacity, 400)
	return offer
}

const (
	memoryResource = "memory.mb"
	cpuResource    = "cpu.pcore.percent"
)

func normalName(name string) string {
	switch name {
	case config.SupervisorMemoryCapacityMb:
		return memoryResource
	case config.SupervisorCpuCapacity:
		return cpuResource
	}
	return name
}

func schedulerMeta(conf config.Conf) map[string]string {
	meta := config.Conf(conf.Map(config.SupervisorSchedulerMeta))
	if meta == nil {
		return nil
	}
	texts := make(map[string]string, len(meta))
	for key := range meta {
		texts[key] = meta.String(key, "")
	}
	return texts
}
