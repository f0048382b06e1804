// SPDX-License-Identifier: Apache-2.0

// Package localizer brings blobs from Nimbus to the supervisor's disk and keeps them current there.
//
// A slot asks for a topology with Localize and gets a Topology: the three topology blobs, the jar's resources, the
// dependencies and the user's blobs of topology.blobstore.map are then on disk, shared with the other slots of that
// topology or, for user blobs, of that owner. The slot gives them back with Release. While it holds them, the Localizer
// asks Nimbus for new versions every 30 seconds. A user blob without workerRestart is swapped in place; any other change
// is downloaded first, then offered to every slot that holds it as a Change, and put in place once all have agreed
// (their workers are stopped) or three minutes have passed.
//
// What is on disk is always whole: a file is written under a temporary name in the supervisor's tmp folder, synced, and
// renamed; a topology blob counts only with its .version file, which is written last and removed first. Run begins by
// removing what a crash left unfinished. Blobs that nobody holds are removed when Nimbus no longer has them, else the
// least recently used first once the cache is above its size.
//
// Nothing that comes in an archive leaves its folder: names are checked, links that lead outside are refused, and total
// size and number of entries are bounded.
//
// The package does not talk Thrift: Nimbus is an interface of two methods, implemented by package supervisor.
// It stands for Storm's AsyncLocalizer, LocallyCachedTopologyBlob and LocalizedResource.
package localizer
