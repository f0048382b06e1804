// SPDX-License-Identifier: Apache-2.0

// Package slot decides what happens on one worker port of a supervisor. It is a pure state machine: events and the time
// go in as values, actions and the next deadline come out, and nothing here touches a process, a file or a clock.
//
// The main types are Machine (one per port), Event (what the supervisor saw), Action (what the supervisor shall do) and
// State, whose names are Storm's. The package stands for org.apache.storm.daemon.supervisor.Slot, without its polling:
// a process that ends, a finished download and a pushed assignment each act at once, in every state, whereas a timer
// only serves what cannot be seen otherwise (a worker that hangs).
//
// It is not the one who launches, kills or downloads: package supervisor does that with the container and localizer
// packages, and tells the outcome as an event. Only package supervisor uses it.
package slot
