// SPDX-License-Identifier: Apache-2.0

package slot

// This file names the states and holds the limits that a machine works with.

import (
	"strconv"
	"time"
)

// State is where a slot stands; the names are those that Storm's supervisor logs.
type State int

// The states, in the order in which a slot first passes through them.
const (
	// Empty: no worker, and none wanted.
	Empty State = iota
	// WaitingForBlobLocalization: a worker is wanted, its files are on their way to the disk.
	WaitingForBlobLocalization
	// WaitingForWorkerStart: the worker is launched and has not heartbeated yet.
	WaitingForWorkerStart
	// Running: the worker heartbeats.
	Running
	// Kill: the worker goes because another assignment, or none, is wanted here.
	Kill
	// KillAndRelaunch: the worker goes, or is gone, and a new one follows for the same assignment.
	KillAndRelaunch
	// KillBlobUpdate: the worker goes so that its files can be exchanged.
	KillBlobUpdate
	// WaitingForBlobUpdate: the worker is gone, its files are being exchanged.
	WaitingForBlobUpdate
)

// String gives Storm's name of the state.
func (s State) String() string {
	switch s {
	case Empty:
		return "EMPTY"
	case WaitingForBlobLocalization:
		return "WAITING_FOR_BLOB_LOCALIZATION"
	case WaitingForWorkerStart:
		return "WAITING_FOR_WORKER_START"
	case Running:
		return "RUNNING"
	case Kill:
		return "KILL"
	case KillAndRelaunch:
		return "KILL_AND_RELAUNCH"
	case KillBlobUpdate:
		return "KILL_BLOB_UPDATE"
	case WaitingForBlobUpdate:
		return "WAITING_FOR_BLOB_UPDATE"
	}
	return "State(" + strconv.Itoa(int(s)) + ")"
}

// Limits are the ages at which a worker of one topology counts as hung, and whether it has a twin. They come from the supervisor's and the
// topology's conf together, so they are known once the topology's conf is on the disk.
type Limits struct {
	// FirstHeartbeat is the longest time from launch to the first heartbeat.
	FirstHeartbeat time.Duration
	// Heartbeat is the longest time between two heartbeats.
	Heartbeat time.Duration
	// Twin says that a twin shall stand by for the worker.
	Twin bool
}

// Config holds a supervisor's times; each must be above 0.
type Config struct {
	// KillGrace is how long a worker may take to end by itself (supervisor.worker.shutdown.sleep.secs).
	KillGrace time.Duration
	// KillRetry is the pause after which a kill without an answer is ordered again, on top of the grace.
	KillRetry time.Duration
	// LocalizeRetry is the pause before blobs that could not be localized are asked for again.
	LocalizeRetry time.Duration
	// BlobUpdateLimit is how long a slot waits for an exchange of files before it goes on with those it has.
	BlobUpdateLimit time.Duration
	// QuickDeath is the life below which a worker's end counts towards the backoff.
	QuickDeath time.Duration
	// Backoff is the wait after the second quick death in a row; each further one doubles it.
	Backoff time.Duration
	// BackoffMax bounds that wait.
	BackoffMax time.Duration
	// TwinDelay is how long a worker runs before its twin is prepared, so that the two do not start side by side.
	TwinDelay time.Duration
	// TwinRetry is the wait after a twin that came to nothing; each further one in a row doubles it, up to TwinRetryMax.
	TwinRetry, TwinRetryMax time.Duration
}

// DefaultConfig returns Storm's times where Storm has them, and ours elsewhere.
func DefaultConfig() Config {
	return Config{
		KillGrace:       3 * time.Second,
		KillRetry:       5 * time.Second,
		LocalizeRetry:   3 * time.Second,
		BlobUpdateLimit: 3 * time.Minute,
		QuickDeath:      10 * time.Second,
		Backoff:         500 * time.Millisecond,
		BackoffMax:      30 * time.Second,
		TwinDelay:       5 * time.Second,
		TwinRetry:       10 * time.Second,
		TwinRetryMax:    10 * time.Minute,
	}
}
