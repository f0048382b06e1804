// SPDX-License-Identifier: Apache-2.0

package container

// This file holds what decides a worker's command line.

import (
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// Command is everything that decides a worker's command line and environment. It holds values only; Build reads no disk
// and no environment.
type Command struct {
	Host     Host
	Topology Topology

	// SupervisorID is the assignment id that the worker is told, SupervisorPort the port of the supervisor's Thrift server.
	SupervisorID   string
	SupervisorPort int
	// Port is the slot, WorkerID the fresh id of the worker.
	Port     int
	WorkerID string
	// Resources is the assignment's share for this worker; nil if it has none.
	Resources *storm.WorkerResources
	// Archive is the class-data archive to use, or nil.
	Archive *Archive
	// Program is what a Go worker is run from, "" for a Java worker.
	Program string
	// TwinJar is the jar of the class that a twin begins with, "" for the command line of a worker.
	TwinJar string
}

// Host is what is the same for all workers of a supervisor.
type Host struct {
	// Conf is the supervisor's conf: storm.yaml over the defaults.
	Conf config.Conf
	// JavaHome is the JDK's folder; if empty, java is looked up in the PATH as stock does without JAVA_HOME.
	JavaHome string
	// StormHome is the folder that holds lib-worker, extlib, log4j2 and conf.
	StormHome string
	// StormVersion is the version of the jars in StormHome, e.g. "2.8.3".
	StormVersion string
	// ConfDir is the folder of storm.yaml, on the worker's class path. (A worker of Storm before 2.6 gets a copy of it
	// that adds task.refresh.poll.secs; WorkerConfDir makes it.)
	ConfDir string
	// LogDir is storm.log.dir, LocalDir is storm.local.dir, Artifacts is the folder of all workers' artifacts.
	LogDir, LocalDir, Artifacts string
	// Hostname is what others reach this machine by.
	Hostname string
	// ExtClassPath is $STORM_EXT_CLASSPATH of the supervisor, may be empty.
	ExtClassPath string
	// StormOptions is what the supervisor's own command line adds to the conf, in the form of -Dstorm.options: key=value
	// pairs, each URL-encoded, joined by commas. StormConfFile is its -Dstorm.conf.file. Both are normally empty.
	StormOptions, StormConfFile string
	// TaskRefreshSecs, if above 0, is handed to workers as task.refresh.poll.secs. The caller leaves it 0 when the user set
	// that key.
	TaskRefreshSecs int
	// OSName and OSArch are Java's os.name and os.arch, e.g. "Linux" and "amd64"; they name the folder of native libraries
	// inside a topology's resources.
	OSName, OSArch string
}

// Topology is what the topology decides. Package localizer fills it from the blobs.
type Topology struct {
	// ID is the topology's id.
	ID string
	// Conf is the topology's conf as stormconf.ser holds it.
	Conf config.Conf
	// Version is the Storm version that the topology was submitted with, "" if the topology does not say.
	Version string
	// Owner is the user on whose behalf the worker runs.
	Owner string
	// Dir is the folder of the topology's blobs.
	Dir string
	// Dependencies are the absolute paths of dependency jars and artifacts, in class path order.
	Dependencies []string
	// Links are the names in Dir that the worker's folder gets a link to.
	Links []string
}

// Invocation is what to execute.
type Invocation struct {
	// Path is the executable, Args its arguments without the executable's name.
	Path string
	Args []string
	// Env holds the variables that are added to the supervisor's own.
	Env map[string]string
}
