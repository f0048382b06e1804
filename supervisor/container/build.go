// SPDX-License-Identifier: Apache-2.0

package container

// This file builds a worker's command line from a Command.

import (
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/config"
)

// WorkerIDVariable is the environment variable by which a worker's children are known as its own, whatever session or
// parent they come to have.
const WorkerIDVariable = "GUST_WORKER_ID"

// defaultHeapMB is a worker's heap when neither assignment nor topology say.
const defaultHeapMB = 768

// Build answers what to execute. It fails only on values that cannot be meant, such as a class path entry of a wrong type.
func (c Command) Build() (*Invocation, error) {
	if c.Program != "" {
		return c.buildGo(), nil
	}
	if c.Host.StormHome == "" {
		return nil, fmt.Errorf("worker of %s: its components run on Java, and this supervisor has no Storm home", c.Topology.ID)
	}
	version := parseVersion(c.Topology.Version)
	if c.Topology.Version == "" {
		version = parseVersion(c.Host.Conf.String(config.SupervisorWorkerDefaultVersion, c.Host.StormVersion))
	}
	memory := c.memory()
	options := c.jvmOptions(memory)
	classPath, archive, err := c.classPath(version, options)
	if err != nil {
		return nil, fmt.Errorf("worker of %s: %w", c.Topology.ID, err)
	}
	main, err := c.mainClass(version)
	if err != nil {
		return nil, fmt.Errorf("worker of %s: %w", c.Topology.ID, err)
	}
	env := c.environment()
	args := []string{"-server"}
	args = append(args, archive...)
	args = append(args, options...)
	args = append(args,
		"-Djava.library.path="+env["LD_LIBRARY_PATH"],
		"-Dstorm.conf.file="+c.Host.StormConfFile,
		"-Dstorm.options="+c.stormOptions(),
		"-Djava.io.tmpdir="+filepath.Join(c.Host.LocalDir, "workers", c.WorkerID, "tmp"),
		"-cp", classPath,
	)
	if c.TwinJar != "" {
		// At the end, so that the worker finds all of its classes and files as without it.
		args[len(args)-1] += ":" + c.TwinJar
		args = append(args, twinClass)
	}
	args = append(args, main, c.Topology.ID, c.SupervisorID)
	// Workers before 2.0.0 send no heartbeats to the supervisor and take no such argument.
	if version.unknown() || !version.less(stormVersion{major: 2}) {
		args = append(args, strconv.Itoa(c.SupervisorPort))
	}
	args = append(args, strconv.Itoa(c.Port), c.WorkerID)
	return &Invocation{Path: c.java(), Args: args, Env: env}, nil
}

// memory is a worker's share in whole MB; 0 means that nothing was asked for.
type memory struct {
	heap, offHeap int64
}

// memory rounds up, as half a megabyte too little is worse than half too much.
func (c Command) memory() memory {
	var m memory
	if r := c.Resources; r != nil {
		if r.MemOnHeap != nil {
			m.heap = int64(math.Ceil(max(*r.MemOnHeap, 0)))
		}
		if r.MemOffHeap != nil {
			m.offHeap = int64(math.Ceil(max(*r.MemOffHeap, 0)))
		}
	}
	if m.heap == 0 {
		m.heap = c.Topology.Conf.Int(config.WorkerHeapMemoryMb, defaultHeapMB)
	}
	return m
}

// jvmOptions are the options whose values depend on conf, in stock's order.
func (c Command) jvmOptions(m memory) []string {
	host, conf := c.Host, c.Topology.Conf
	options := []string{
		"-Dlogging.sensitivity=" + conf.String(config.TopologyLoggingSensitivity, "S3"),
		"-Dlogfile.name=worker.log",
		"-Dstorm.home=" + host.StormHome,
		"-Dworkers.artifacts=" + host.Artifacts,
		"-Dstorm.id=" + c.Topology.ID,
		"-Dworker.id=" + c.WorkerID,
		"-Dworker.port=" + strconv.Itoa(c.Port),
		"-Dstorm.log.dir=" + host.LogDir,
		"-DLog4jContextSelector=org.apache.logging.log4j.core.selector.BasicContextSelector",
		"-Dstorm.local.dir=" + host.LocalDir,
	}
	if m.heap > 0 {
		options = append(options, "-Dworker.memory_limit_mb="+strconv.FormatInt(m.heap, 10))
	}
	options = append(options, "-Dlog4j.configurationFile="+c.loggingConfig())
	gc := conf[config.TopologyWorkerGcChildopts]
	if gc == nil {
		gc = host.Conf[config.WorkerGcChildopts]
	}
	options = append(options, c.childOptions(host.Conf[config.WorkerChildopts], m)...)
	options = append(options, c.childOptions(conf[config.TopologyWorkerChildopts], m)...)
	options = append(options, c.childOptions(gc, m)...)
	if host.Conf.Bool(config.WorkerProfilerEnabled, false) {
		options = append(options, c.childOptions(host.Conf[config.WorkerProfilerChildopts], m)...)
	}
	return options
}

func (c Command) loggingConfig() string {
	dir := c.Host.Conf.String(config.StormLog4j2ConfDir, "")
	if strings.TrimSpace(dir) == "" {
		dir = "log4j2"
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.Host.StormHome, dir)
	}
	file := filepath.Join(dir, "worker.xml")
	if own := c.Topology.Conf.String(config.TopologyLoggingConfig, ""); own != "" {
		file += "," + own
	}
	return file
}

// childOptions fills in one childopts value. A string is cut at white space, a list's elements are taken whole.
func (c Command) childOptions(value any, m memory) []string {
	port := strconv.Itoa(c.Port)
	pairs := []string{"%ID%", port, "%WORKER-ID%", c.WorkerID, "%TOPOLOGY-ID%", c.Topology.ID, "%WORKER-PORT%", port}
	// A placeholder without a number stays: the JVM's complaint then shows what is missing.
	if m.heap > 0 {
		heap := strconv.FormatInt(m.heap, 10)
		pairs = append(pairs, "%HEAP-MEM%", heap, "%LIMIT-MEM%", heap)
	}
	if m.offHeap > 0 {
		pairs = append(pairs, "%OFF-HEAP-MEM%", strconv.FormatInt(m.offHeap, 10))
	}
	fill := strings.NewReplacer(pairs...)
	var options []string
	switch value := value.(type) {
	case string:
		options = strings.Fields(fill.Replace(value))
	case []any:
		for _, element := range value {
			text, ok := element.(string)
			if text = fill.Replace(text); ok && strings.TrimSpace(text) != "" {
				options = append(options, text)
			}
		}
	}
	return options
}

// environment is what the worker gets beyond the supervisor's own environment.
func (c Command) environment() map[string]string {
	env := map[string]string{}
	for name, value := range c.Topology.Conf.Map(config.TopologyEnvironment) {
		if value != nil {
			env[name] = fmt.Sprint(value)
		}
	}
	resources := filepath.Join(c.Topology.Dir, "resources")
	libraries := []string{
		filepath.Join(resources, strings.ReplaceAll(c.Host.OSName, " ", "_")+"-"+c.Host.OSArch),
		resources,
	}
	if path, ok := c.Host.Conf[config.JavaLibraryPath].(string); ok {
		libraries = append(libraries, path)
	}
	if own, ok := env["LD_LIBRARY_PATH"]; ok {
		libraries = append(libraries, own)
	}
	env["LD_LIBRARY_PATH"] = strings.Join(libraries, ":")
	env[WorkerIDVariable] = c.WorkerID
	return env
}

// stormOptions is the value of -Dstorm.options: what the supervisor itself was given, and the faster look at assignments.
// Workers before 2.6 die of the number; they get the key in a storm.yaml, see WorkerConfDir.
func (c Command) stormOptions() string {
	options := c.Host.StormOptions
	if c.Host.TaskRefreshSecs <= 0 || !refreshByOption(c.Host.StormVersion) {
		return options
	}
	if options != "" {
		options += ","
	}
	return options + url.QueryEscape(fmt.Sprintf("%s=%d", config.TaskRefreshPollSecs, c.Host.TaskRefreshSecs))
}

// refreshByOption says whether a worker of that Storm version takes task.refresh.poll.secs by -Dstorm.options.
func refreshByOption(version string) bool {
	return !parseVersion(version).less(stormVersion{major: 2, minor: 6})
}

func (c Command) java() string {
	if strings.TrimSpace(c.Host.JavaHome) == "" {
		return "java"
	}
	return filepath.Join(c.Host.JavaHome, "bin", "java")
}
