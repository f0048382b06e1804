// SPDX-License-Identifier: Apache-2.0

package multilang

// This file holds how a child's end is told.

import (
	"errors"
	"fmt"
	"strings"
)

// Why a child was ended; a ChildError wraps one of these or tells something of its own.
var (
	// ErrExited is about a child that ended by itself.
	ErrExited = errors.New("the child ended")
	// ErrSilent is about a child that said nothing for too long.
	ErrSilent = errors.New("the child does not answer")
	// ErrMemory is about a child that used more memory than it may.
	ErrMemory = errors.New("the child uses too much memory")
	// ErrProtocol is about a child that said what the protocol does not have.
	ErrProtocol = errors.New("the child does not follow the multilang protocol")
	// ErrStart is about a child that could not be started.
	ErrStart = errors.New("the child cannot be started")
)

// ChildError is the end of a child, for the log and for the component's error in the UI.
type ChildError struct {
	Component string
	Task      int32
	Command   []string
	// Cause is why it ended.
	Cause error
	// Exit is how it ended: its exit code or signal; "" if it never ran.
	Exit string
	// Lines are the last ones of what it wrote to stderr.
	Lines []string
}

func (e *ChildError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "component %s, task %d, command %q: %s", e.Component, e.Task, e.Command, e.Cause)
	if e.Exit != "" {
		fmt.Fprintf(&b, " (%s)", e.Exit)
	}
	if len(e.Lines) > 0 {
		fmt.Fprintf(&b, "; last lines of stderr:\n%s", strings.Join(e.Lines, "\n"))
	}
	return b.String()
}

// Unwrap is the cause.
func (e *ChildError) Unwrap() error { return e.Cause }
