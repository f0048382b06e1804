// SPDX-License-Identifier: Apache-2.0

// The writing side: functions that append one value to a byte slice.

package jute

import "encoding/binary"

// AppendBool appends one byte, 1 or 0.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendInt appends a 32-bit integer.
func AppendInt(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

// AppendLong appends a 64-bit integer.
func AppendLong(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

// AppendBuffer appends a byte buffer; nil goes out as length -1.
func AppendBuffer(b, v []byte) []byte {
	if v == nil {
		return AppendInt(b, -1)
	}
	return append(AppendInt(b, int32(len(v))), v...)
}

// AppendString appends a string; the empty one has length 0, never -1.
func AppendString(b []byte, v string) []byte {
	return append(AppendInt(b, int32(len(v))), v...)
}

// AppendStrings appends a vector of strings.
func AppendStrings(b []byte, v []string) []byte {
	b = AppendInt(b, int32(len(v)))
	for _, s := range v {
		b = AppendString(b, s)
	}
	return b
}

// AppendACLs appends a vector of ACL entries.
func AppendACLs(b []byte, v []ACL) []byte {
	b = AppendInt(b, int32(len(v)))
	for _, a := range v {
		b = AppendInt(b, a.Perms)
		b = AppendString(b, a.ID.Scheme)
		b = AppendString(b, a.ID.ID)
	}
	return b
}

// AppendStat appends a znode's stat.
func AppendStat(b []byte, s Stat) []byte {
	b = AppendLong(b, s.Czxid)
	b = AppendLong(b, s.Mzxid)
	b = AppendLong(b, s.Ctime)
	b = AppendLong(b, s.Mtime)
	b = AppendInt(b, s.Version)
	b = AppendInt(b, s.Cversion)
	b = AppendInt(b, s.Aversion)
	b = AppendLong(b, s.EphemeralOwner)
	b = AppendInt(b, s.DataLength)
	b = AppendInt(b, s.NumChildren)
	return AppendLong(b, s.Pzxid)
}

// AppendReply appends the header of an answer.
func AppendReply(b []byte, xid int32, zxid int64, code Code) []byte {
	b = AppendInt(b, xid)
	b = AppendLong(b, zxid)
	return AppendInt(b, int32(code))
}

// AppendMultiHeader appends the header in front of each part of a multi.
func AppendMultiHeader(b []byte, op Op, done bool, code Code) []byte {
	b = AppendInt(b, int32(op))
	b = AppendBool(b, done)
	return AppendInt(b, int32(code))
}

// AppendEvent appends a whole watch notification, header included.
func AppendEvent(b []byte, zxid int64, typ EventType, path string) []byte {
	b = AppendReply(b, XidNotification, zxid, OK)
	b = AppendInt(b, int32(typ))
	b = AppendInt(b, StateConnected)
	return AppendString(b, path)
}
