// SPDX-License-Identifier: Apache-2.0

// Package harness runs whole clusters for tests: stock Storm (ZooKeeper, Nimbus
// and Supervisor, each in its own JVM) and gust, behind one interface, and
// talks to both with Storm's own Java client. Both get the same storm.yaml but
// for ports and folders, so that what a test sees apart is a difference
// between them and not of their settings.
//
// The main types are Cluster (Stock and Gust are its two kinds), Client (a JVM
// that answers questions through Storm's NimbusClient) and Submitter (what the
// storm jar command does). It is no test itself and knows no topology.
package harness
