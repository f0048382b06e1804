// SPDX-License-Identifier: Apache-2.0

// Package rig starts and ends what is measured: stock Storm, with bare java
// commands or in the steps of Storm's own script, and gust, as one process or
// as one process a part, on ports and folders of their own.
//
// Unlike the harness of the compatibility tests it changes no interval, heap
// or compiler setting of Storm: both sides get Storm's defaults, since those
// are what users wait for. It also gives what only measuring needs: process
// times, proportional memory, the moment a worker process appears and the
// moments that a spout of the bench topology wrote down.
//
// The main types are Site (what is installed), Cluster (one that runs) and
// Stamps (what a bench spout saw). It decides nothing about rows or targets;
// package measure does.
package rig
