// SPDX-License-Identifier: Apache-2.0

// Package client is the Go end of keyed state: it reads a task's state in place, in the arena that the state server fills, and sends
// changes to that server through its socket.
//
// [Open] opens the state of a task, [ForTask] that of a component which is linked into a Go worker or runs as a child of any worker. Changes stay in
// the [State] until Prepare or CommitNow, and those that were committed until the arena has them, so a Get sees them always. While the server is
// away, calls wait for it, at most [Config].Wait, and say so in the log; then they go on in the same session.
//
// It does not start a server and keeps nothing on disk. It stands for what the Java plug-in's KeyValueState is for Java.
package client
