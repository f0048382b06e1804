// SPDX-License-Identifier: Apache-2.0

// Package journal is an append-only log in files of about 64 MiB. A record is durable when Sync with its position has returned; many
// callers of Sync share one fsync. A tail that a crash tore is cut at open; what had been durable and is damaged is an error that names
// file and offset, and reading goes on behind it. The journal knows a record by its tag (whose it is) and never looks into it. It stands
// for no Storm class; stateapi/shard is its only user.
//
// A file, journal-<number as 16 hex digits>: 64 bytes of header (magic "GUSTJRNL", u32 version, u32 header size, u64 position of the first
// record, 36 bytes of 0, u32 CRC-32C of all before it), then records. A record: a head of 40 bytes, the body, the head again. The head: u32
// CRC-32C of the rest of the head, u32 CRC-32C of the body, u64 position of the record, u64 position up to which all was durable when it
// was written, u64 tag, u64 length of the body. Numbers are little-endian; positions count the bytes of records since the first file. Each head
// stands in for the other when one is damaged, and positions let reading find the next record behind damage.
//
// File mark: "GUSTMARK", u64 position up to which all is durable, u32 version, u32 CRC-32C of all before it. It is written after each fsync
// and never synced itself, so a crash of the machine may leave an older one: then the records say how far fsync had come.
package journal
