// SPDX-License-Identifier: Apache-2.0

// Package localstate is what a supervisor and its workers keep on their own disk: where each file lies, and how the small
// records that survive a restart are read and written. Nimbus keeps its history of topologies in such records too.
//
// The main types:
//
//   - Layout names every folder and file below storm.local.dir and the workers' artifacts folder. All other supervisor
//     packages ask it for a path; none joins one itself.
//   - Store is one LocalState folder: numbered versions, the four newest kept, each holding named Thrift records. The
//     supervisor's folder holds its id, the approved workers and the local assignments. Stock Storm reads what a Store
//     wrote, and the other way round.
//   - HeartbeatReader follows the folder into which a worker writes a heartbeat each second.
//   - Pids reads the process ids that a worker leaves behind.
//   - WriteFile replaces a file as a whole: exclusive temporary file, fsync, rename, fsync of the folder.
//
// A version that is torn, empty or not Storm's is passed over and the next older one is used. Only when a folder has
// versions and none can be read is there an error, a *CorruptError, and it names the files.
//
// The package keeps no cache across Store calls and starts no goroutine. It does not decide what a heartbeat's age means
// or which worker may live: package slot does.
//
// It stands for Storm's LocalState, VersionedStore and the path functions of ConfigUtils and ServerConfigUtils. Callers
// are packages supervisor, container and localizer, worker, and nimbus for a Store.
package localstate
