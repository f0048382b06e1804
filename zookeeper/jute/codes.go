// SPDX-License-Identifier: Apache-2.0

// The numbers of the protocol: request kinds, error codes, event kinds, permissions.

package jute

import "strconv"

// Op is a request kind as it stands in a request header.
type Op int32

// Request kinds. OpError only occurs inside the answer to a multi.
const (
	OpError           Op = -1
	OpCreateSession   Op = -10
	OpCloseSession    Op = -11
	OpCreate          Op = 1
	OpDelete          Op = 2
	OpExists          Op = 3
	OpGetData         Op = 4
	OpSetData         Op = 5
	OpGetACL          Op = 6
	OpSetACL          Op = 7
	OpGetChildren     Op = 8
	OpSync            Op = 9
	OpPing            Op = 11
	OpGetChildren2    Op = 12
	OpCheck           Op = 13
	OpMulti           Op = 14
	OpCreate2         Op = 15
	OpReconfig        Op = 16
	OpCheckWatches    Op = 17
	OpRemoveWatches   Op = 18
	OpCreateContainer Op = 19
	OpDeleteContainer Op = 20
	OpCreateTTL       Op = 21
	OpMultiRead       Op = 22
	OpAuth            Op = 100
	OpSetWatches      Op = 101
	OpSASL            Op = 102
	OpGetEphemerals   Op = 103
	OpChildrenNumber  Op = 104
	OpSetWatches2     Op = 105
	OpAddWatch        Op = 106
	OpWhoAmI          Op = 107
)

// Request ids that clients reserve for requests without a caller.
const (
	XidNotification int32 = -1
	XidPing         int32 = -2
	XidAuth         int32 = -4
	XidSetWatches   int32 = -8
)

// Code is ZooKeeper's error number of an answer; zero is success. It is a value that
// goes to the client, not a Go error: nothing has failed here when a znode is absent.
type Code int32

// Error numbers that this server gives.
const (
	OK                      Code = 0
	SystemError             Code = -1
	RuntimeInconsistency    Code = -2
	MarshallingError        Code = -5
	Unimplemented           Code = -6
	OperationTimeout        Code = -7
	BadArguments            Code = -8
	NoNode                  Code = -101
	NoAuth                  Code = -102
	BadVersion              Code = -103
	NoChildrenForEphemerals Code = -108
	NodeExists              Code = -110
	NotEmpty                Code = -111
	SessionExpired          Code = -112
	InvalidACL              Code = -114
	AuthFailed              Code = -115
	NoWatcher               Code = -121
	ReconfigDisabled        Code = -123
	ThrottledOp             Code = -127
)

// String names the code for people.
func (c Code) String() string {
	if name := c.name(); name != "" {
		return name
	}
	return "zookeeper error " + strconv.Itoa(int(c))
}

func (c Code) name() string {
	switch c {
	case OK:
		return "ok"
	case SystemError:
		return "system error"
	case RuntimeInconsistency:
		return "runtime inconsistency"
	case MarshallingError:
		return "marshalling error"
	case Unimplemented:
		return "unimplemented"
	case OperationTimeout:
		return "operation timeout"
	case BadArguments:
		return "bad arguments"
	case NoNode:
		return "no node"
	case NoAuth:
		return "no auth"
	case BadVersion:
		return "bad version"
	case NoChildrenForEphemerals:
		return "no children for ephemerals"
	case NodeExists:
		return "node exists"
	case NotEmpty:
		return "not empty"
	case SessionExpired:
		return "session expired"
	case InvalidACL:
		return "invalid acl"
	case AuthFailed:
		return "auth failed"
	case NoWatcher:
		return "no watcher"
	case ReconfigDisabled:
		return "reconfig disabled"
	case ThrottledOp:
		return "throttled"
	}
	return ""
}

// EventType is the kind of a watch event.
type EventType int32

// Watch events.
const (
	EventCreated         EventType = 1
	EventDeleted         EventType = 2
	EventDataChanged     EventType = 3
	EventChildrenChanged EventType = 4
)

// StateConnected is the session state that every watch event of a server carries.
const StateConnected int32 = 3

// WatchType is what removeWatches and checkWatches ask for.
type WatchType int32

// Watch types.
const (
	WatchChildren            WatchType = 1
	WatchData                WatchType = 2
	WatchAny                 WatchType = 3
	WatchPersistent          WatchType = 4
	WatchPersistentRecursive WatchType = 5
)

// Modes of addWatch.
const (
	AddWatchPersistent          int32 = 0
	AddWatchPersistentRecursive int32 = 1
)

// Permission bits of an ACL entry.
const (
	PermRead   int32 = 1 << 0
	PermWrite  int32 = 1 << 1
	PermCreate int32 = 1 << 2
	PermDelete int32 = 1 << 3
	PermAdmin  int32 = 1 << 4
	PermAll    int32 = 31
)

// Flags of a create request.
const (
	FlagPersistent              int32 = 0
	FlagEphemeral               int32 = 1
	FlagSequential              int32 = 2
	FlagEphemeralSequential     int32 = 3
	FlagContainer               int32 = 4
	FlagPersistentTTL           int32 = 5
	FlagPersistentSequentialTTL int32 = 6
)
