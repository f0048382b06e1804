// SPDX-License-Identifier: Apache-2.0

// Package supervisor runs the workers of one machine: it takes assignments from Nimbus, keeps one slot a port, and tells
// Nimbus that it and its workers live.
//
// The main types are Supervisor, made by New and run by Run, and Config, made from a conf by FromConf. A Supervisor is
// wired from four packages below it: slot decides what happens on a port, container runs the processes, localizer
// brings files to the disk, localstate keeps what must survive a restart. What this package adds is the wiring (port.go),
// the calls of Nimbus and of workers (service.go), the calls to Nimbus (nimbus.go, beats.go, poll.go), the supervisor's
// entry in the cluster state (info.go), and what happens at a start beside running workers (recover.go).
//
// It is not a scheduler: Nimbus alone says what runs here, and as long as Nimbus cannot be reached, everything goes on as
// it is. Workers outlive their supervisor, unless Config.KillWorkersOnStop says otherwise.
//
// The package stands for Storm's Supervisor, ReadClusterState, SynchronizeAssignments, SupervisorHeartbeat and
// ReportWorkerHeartbeats. cmd/gust calls it.
package supervisor
