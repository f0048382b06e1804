// SPDX-License-Identifier: Apache-2.0

package slot

// This file lists what a machine can be told.

import "github.com/gust-stream/gust/thrift/storm"

// Event is one thing that the supervisor saw. Events about a worker carry the Seq of the Launch (or the one given to
// Adopted), events about files the Attempt of the Localize or UpdateBlobs; an event with an old number is ignored.
type Event interface{ event() }

// Assigned tells the assignment that Nimbus wants on this port now; nil wants none. The machine keeps the pointer, so
// the struct must not change afterwards.
type Assigned struct{ Assignment *storm.LocalAssignment }

// Adopted tells a worker that was running before this supervisor started. It is meant to be the first event, if any.
type Adopted struct {
	Assignment *storm.LocalAssignment
	Limits     Limits
	// Beating says that the worker has already heartbeated at least once.
	Beating bool
}

// Localized tells that all files of a topology are on the disk.
type Localized struct {
	Attempt int
	Limits  Limits
}

// LocalizationFailed tells why they are not, or why an exchange of files did not happen.
type LocalizationFailed struct {
	Attempt int
	Reason  string
}

// Started tells that the process of a launch exists.
type Started struct{ Seq int }

// LaunchFailed tells that no process came out of a launch.
type LaunchFailed struct {
	Seq    int
	Reason string
}

// Prepared tells that a twin is up and may become a worker.
type Prepared struct{ Seq int }

// TwinEnded tells that a twin could not be started, or has ended before it was used.
type TwinEnded struct {
	Seq    int
	Reason string
}

// Heartbeat tells that a new heartbeat of the worker was found.
type Heartbeat struct{ Seq int }

// Exited tells that the worker's own process has ended, whereas its children may live.
type Exited struct {
	Seq    int
	Reason string
}

// Gone tells that neither the worker nor any child of it lives.
type Gone struct{ Seq int }

// KillFailed tells that an ordered kill could not be carried out; the machine orders it again later.
type KillFailed struct {
	Seq    int
	Reason string
}

// Restart asks for a new worker in place of this one, without a grace: the JVM_RESTART profile request.
type Restart struct {
	Seq    int
	Reason string
}

// BlobsChanged tells that there are newer files of a topology, which a running worker must be restarted for.
type BlobsChanged struct{ TopologyID string }

// Tick tells nothing but the time.
type Tick struct{}

func (Assigned) event()           {}
func (Adopted) event()            {}
func (Localized) event()          {}
func (LocalizationFailed) event() {}
func (Started) event()            {}
func (LaunchFailed) event()       {}
func (Prepared) event()           {}
func (TwinEnded) event()          {}
func (Heartbeat) event()          {}
func (Exited) event()             {}
func (Gone) event()               {}
func (KillFailed) event()         {}
func (Restart) event()            {}
func (BlobsChanged) event()       {}
func (Tick) event()               {}
