// SPDX-License-Identifier: Apache-2.0

// Package worker is the Go worker: one process on one slot that runs executors of one topology without a JVM. A supervisor
// starts it with the arguments, the folder, the files and the environment of a Java worker (package container), and watches,
// kills and adopts it by the same rules.
//
// [Worker] is the frame around the executors: it reads the topology's files, finds out what to run, tells everybody that it
// lives, and passes on what others change meanwhile (activation, credentials, log levels, where the other executors are). What
// runs inside is an [Engine]. [Main] is a whole process; "gust worker" and a topology's own program call it.
//
// It does not choose between Go and Java (Nimbus does, see gust.topology.engines), and it does not start or end children of
// components (package multilang does).
//
// It stands for Storm's Worker and WorkerState, ReportError and LogConfigManager.
package worker
