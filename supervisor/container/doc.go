// SPDX-License-Identifier: Apache-2.0

// Package container runs worker processes: it builds a worker's command line, lays out its folder, starts it, tells when it
// ends, kills all that belongs to it, and finds it again after the supervisor was restarted.
//
// The main types:
//
//   - Command holds everything that decides a worker's command line; Command.Build is pure and answers what stock Storm
//     would launch, less the log-writer process.
//   - Launcher starts workers and adopts running ones. Its Run watches all of them with one goroutine, bounds their
//     output files, and makes class-data archives.
//   - Worker is one worker process, started or adopted. Done tells its end at once, also before its first heartbeat and
//     for adopted workers, because the kernel tells us (pidfd) and not a heartbeat's age.
//   - Archives makes and finds class-data archives, which shorten the start of a JVM.
//
// # A worker outlives its supervisor
//
// A worker gets a session of its own, so no signal to the supervisor's terminal or group reaches it, and its standard
// output and error are the files worker.log.out and worker.log.err, opened for appending. They are files and not pipes
// because a pipe breaks with the supervisor and the worker's next print would end it. The supervisor bounds the files by
// copying a full one away, compressed, and truncating it in place: the worker's open file goes on at the beginning. What is
// printed between the end of the copy and the truncation (microseconds) is lost; log4j's own files are not concerned.
//
// # Who belongs to a worker
//
// A pid on disk proves nothing. A process belongs to a worker if it is the process that was started (same pid and same
// start time), or descends from it, or is in its session and not older, or carries the worker's id in its environment or
// command line, or is listed in pids/, works in this supervisor's folders and is older than its entry. Signals go through
// pidfds whose process was checked after they were opened, so a recycled pid is never hit.
//
// # A twin does not
//
// Twin is a process that stands by to become a worker (gust.worker.twin.enabled). It listens on a socket to its supervisor and
// ends with it. Until it is released it has a folder and an id like a worker, and no part in the slot; its JVM begins with
// launcher/Twin.java, whose class file is part of this package, so that no build needs a JDK.
//
// The package does not decide when to start or kill (package slot does) and does not fetch blobs (package localizer does).
//
// It stands for Storm's Container, BasicContainer, their launchers and LogWriter. Package supervisor calls it.
package container
