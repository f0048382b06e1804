// SPDX-License-Identifier: Apache-2.0

package slot

// This file lists what a machine can order.

import (
	"time"

	"github.com/gust-stream/gust/thrift/storm"
)

// Action is one thing that the supervisor shall do. Actions of one step are carried out in their order; Localize,
// UpdateBlobs, Launch and Kill are answered by an event.
type Action interface{ action() }

// Localize orders the files of a topology onto the disk, newest version, and a reference that keeps them there.
// Answer: Localized or LocalizationFailed.
type Localize struct {
	Attempt    int
	Assignment *storm.LocalAssignment
}

// Retain orders a reference on files that are on the disk already, those of an adopted worker. No answer.
type Retain struct{ Assignment *storm.LocalAssignment }

// Release orders the reference on a topology's files given back. No answer.
type Release struct{ TopologyID string }

// UpdateBlobs orders that Nimbus is asked for newer files, and those in use exchanged for them once no other slot runs on
// the old ones. Answer as for Localize.
type UpdateBlobs struct {
	Attempt    int
	Assignment *storm.LocalAssignment
}

// Save orders the port's assignment written down for the next supervisor; nil means none. No answer.
type Save struct{ Assignment *storm.LocalAssignment }

// Launch orders a new worker. Answer: Started or LaunchFailed, and later Exited.
type Launch struct {
	Seq        int
	Assignment *storm.LocalAssignment
	// Twin is the Seq of the twin that becomes the worker, or 0. The twin is used up by this, whether it works or not: if it
	// cannot be used, the worker is started anew under the same order.
	Twin int
}

// Prepare orders a twin: a JVM that stands by to become the worker of that assignment. Answer: Prepared, and TwinEnded
// when there is none, or none any more.
type Prepare struct {
	Seq        int
	Assignment *storm.LocalAssignment
}

// Discard orders the end of a twin that was not used, and its directories removed. No answer.
type Discard struct{ Seq int }

// Stop orders the end of a worker and all its children, by force once the grace is over. Answer: Gone or KillFailed.
type Stop struct {
	Seq   int
	Grace time.Duration
}

// Remove orders the directories of a worker that is gone removed. No answer.
type Remove struct{ Seq int }

// Note is a line for the log: a constant Text, and what differs from case to case in Detail.
type Note struct {
	Text   string
	Detail string
	// Warn is for what an operator should see even when all else is quiet.
	Warn bool
}

func (Localize) action()    {}
func (Retain) action()      {}
func (Release) action()     {}
func (UpdateBlobs) action() {}
func (Save) action()        {}
func (Launch) action()      {}
func (Prepare) action()     {}
func (Discard) action()     {}
func (Stop) action()        {}
func (Remove) action()      {}
func (Note) action()        {}
