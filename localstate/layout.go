// SPDX-License-Identifier: Apache-2.0

package localstate

// This file names every path that a supervisor and its workers share.

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Names of the three topology blobs inside a topology's folder; each has a neighbour with VersionSuffix that holds the
// blob's version in decimal.
const (
	TopologyJar   = "stormjar.jar"
	TopologyCode  = "stormcode.ser"
	TopologyConf  = "stormconf.ser"
	Resources     = "resources"
	VersionSuffix = ".version"
)

// Layout is the disk of one supervisor. Both fields are absolute paths.
type Layout struct {
	// Local is storm.local.dir.
	Local string
	// Artifacts is the folder of all workers' logs, <storm.log.dir>/workers-artifacts unless
	// storm.workers.artifacts.dir says otherwise.
	Artifacts string
}

// Supervisor is the folder of the supervisor's own files.
func (l Layout) Supervisor() string { return filepath.Join(l.Local, "supervisor") }

// State is the LocalState folder of approved workers and local assignments.
func (l Layout) State() string { return filepath.Join(l.Supervisor(), "localstate") }

// ID is the LocalState folder that holds the supervisor's id.
func (l Layout) ID() string { return filepath.Join(l.Supervisor(), "isupervisor") }

// Tmp is the folder of unfinished work; it is emptied at start.
func (l Layout) Tmp() string { return filepath.Join(l.Supervisor(), "tmp") }

// Topologies is the folder that holds one folder for each localized topology.
func (l Layout) Topologies() string { return filepath.Join(l.Supervisor(), "stormdist") }

// Topology is the folder of one topology's blobs.
func (l Layout) Topology(topologyID string) string { return filepath.Join(l.Topologies(), topologyID) }

// TopologyResources is the folder of the files that came in the topology's jar below resources/.
func (l Layout) TopologyResources(topologyID string) string {
	return filepath.Join(l.Topology(topologyID), Resources)
}

// Users is the folder that holds one folder of blobs for each topology owner.
func (l Layout) Users() string { return filepath.Join(l.Supervisor(), "usercache") }

// UserFiles is the folder of an owner's blobs that are used as they are.
func (l Layout) UserFiles(owner string) string {
	return filepath.Join(l.Users(), owner, "filecache", "files")
}

// UserArchives is the folder of an owner's blobs that are unpacked.
func (l Layout) UserArchives(owner string) string {
	return filepath.Join(l.Users(), owner, "filecache", "archives")
}

// ClassData is the folder of class-data archives.
func (l Layout) ClassData() string { return filepath.Join(l.Supervisor(), "class-data") }

// Workers is the folder that holds one folder for each worker.
func (l Layout) Workers() string { return filepath.Join(l.Local, "workers") }

// Worker is a worker's folder, and its working directory.
func (l Layout) Worker(workerID string) string { return filepath.Join(l.Workers(), workerID) }

// WorkerPids is the folder in which the worker leaves an empty file named by pid for itself and for each multilang child.
func (l Layout) WorkerPids(workerID string) string { return filepath.Join(l.Worker(workerID), "pids") }

// WorkerHeartbeats is the LocalState folder into which the worker writes a heartbeat each second.
func (l Layout) WorkerHeartbeats(workerID string) string {
	return filepath.Join(l.Worker(workerID), "heartbeats")
}

// WorkerTmp is the worker's java.io.tmpdir.
func (l Layout) WorkerTmp(workerID string) string { return filepath.Join(l.Worker(workerID), "tmp") }

// WorkerUsers is the folder of files that say on whose behalf a worker runs.
func (l Layout) WorkerUsers() string { return filepath.Join(l.Local, "workers-users") }

// WorkerUser is the file that holds the name of the worker's user.
func (l Layout) WorkerUser(workerID string) string { return filepath.Join(l.WorkerUsers(), workerID) }

// WorkerArtifacts is the folder of a slot's logs and dumps; it outlives the worker.
func (l Layout) WorkerArtifacts(topologyID string, port int) string {
	return filepath.Join(l.Artifacts, topologyID, strconv.Itoa(port))
}

// CheckName says whether name may become one element of a path: not empty, not "." or "..", without a separator or a NUL
// byte, at most 255 bytes. The error begins with what, which says what kind of name it is.
func CheckName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s is empty", what)
	case name == "." || name == "..":
		return fmt.Errorf("%s %q is not allowed", what, name)
	case strings.ContainsAny(name, "/\\\x00"):
		return fmt.Errorf("%s %q contains a path separator", what, name)
	case len(name) > 255:
		return fmt.Errorf("%s of %d bytes is longer than 255", what, len(name))
	}
	return nil
}
