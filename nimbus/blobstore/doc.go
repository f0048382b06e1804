// SPDX-License-Identifier: Apache-2.0

// Package blobstore keeps Nimbus's blobs (topology JARs, code, confs, users' files) in a local folder, in the layout of
// Storm's LocalFsBlobStore, so that either can open what the other wrote.
//
// A blob is data and meta, each a file of its own: blobs/<bucket>/data_<key>/data and blobs/<bucket>/meta_<key>/data,
// where bucket is |Java's String.hashCode of the prefixed name| mod 1024. The version of a blob is the CRC-32C of its
// content and is computed once for each content, not for each call. A blob appears whole or not at all: content goes to
// a temporary file, is synced, renamed, and its folders are synced before a write returns. The small blobs of a submit go
// through a journal instead, with one wait for the disk (journal.go). Damage is told from an update by a checksum (seal.go).
//
// The package knows no access rights and no cluster state: those are package nimbus's, its only user.
package blobstore
