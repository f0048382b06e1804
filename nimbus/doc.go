// SPDX-License-Identifier: Apache-2.0

// Package nimbus is the master of a site: it takes in topologies, decides which supervisor runs which of their executors, and
// answers for them to clients, supervisors and workers. [Nimbus] is Storm's Thrift service of that name together with the loop that
// schedules; [Config] are its settings. One file service_*.go holds each group of calls.
//
// What is known of the cluster lies in memory (model.go) and is written to the cluster state before anything else sees it, so a
// Nimbus that starts anew reads it all again (lead.go). What moves executors happens in one goroutine (schedule.go), which wakes when
// something happened: a submit, a supervisor that came or fell silent, a kill, a rebalance. Who counts as dead is decided in
// judge.go, where executors go in package scheduler, what an event does to a topology in package lifecycle: all pure.
//
// It does not run anything itself: supervisors do. It does not aggregate statistics over windows yet, has no users and groups, and
// keeps one copy of each blob; a standby Nimbus stands in the election but does not fetch blobs.
//
// It stands for org.apache.storm.daemon.nimbus.Nimbus, HeartbeatCache and TopoCache, and for AssignmentDistributionService. The
// command line (cmd/gust) builds it. See DESIGN.md.
package nimbus
