// SPDX-License-Identifier: Apache-2.0

// Package zookeeper compares gust's embedded cluster state with a real ZooKeeper
// server: one Java program (src/, Maven) asks a server everything through Java's
// client and Curator and prints each answer and watch event; the prints must be
// equal, line by line. It contains no product code.
//
// suite_test.go runs the program against both and restarts them in the middle with
// SIGKILL; servers_test.go starts them. Answers that differ on purpose are listed,
// each with its reason, in differences_test.go.
package zookeeper
