// SPDX-License-Identifier: Apache-2.0

// Package faults does harm to a running gust and looks at what is left: kill -9
// of each part and of all, full disks, damaged files, peers that send anything
// but what they should, and the known faults of stock Storm, which gust must not
// share. A topology of stock Java workers runs meanwhile, and its tuples are
// counted.
//
// Everything here is test code. daemons_test.go has one process a daemon and one
// topology that lives through all of it; dev_test.go has gust dev under hostile
// peers. Disks are filled on file systems of their own (tmpfs), which takes the
// right to mount them; faults_test.go says what else is needed. The parts are
// run by package site. Longer runs are in package soak.
package faults
