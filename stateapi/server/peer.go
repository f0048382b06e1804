// SPDX-License-Identifier: Apache-2.0

// This file says who a client is and what it may open.

package server

import (
	"errors"
	"fmt"
	"net"
	"os/user"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/stateapi"
)

const (
	longestName    = 4 << 10
	longestEncoder = 64 << 10
	mostShards     = 1 << 12
)

// peer is the process at a connection's other end, as the kernel knows it.
type peer struct {
	uid, pid int
}

func (p peer) String() string { return fmt.Sprintf("process %d of user %d", p.pid, p.uid) }

func credentials(conn *net.UnixConn) (peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer{}, fmt.Errorf("find out who connects: %w", err)
	}
	var cred *unix.Ucred
	var fault error
	err = raw.Control(func(fd uintptr) { cred, fault = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(err, fault); err != nil {
		return peer{}, fmt.Errorf("find out who connects: %w", err)
	}
	return peer{uid: int(cred.Uid), pid: int(cred.Pid)}, nil
}

// trusted says whether a client may do everything: it is the user of this process, or root.
func (s *Server) trusted(p peer) bool { return p.uid == s.self || p.uid == 0 }

// mayOpen refuses a state of somebody else. Who is not trusted connects under Config.Shared only.
func (s *Server) mayOpen(p peer, owner string) error {
	if s.trusted(p) {
		return nil
	}
	who, err := user.LookupId(strconv.Itoa(p.uid))
	if err != nil {
		return fmt.Errorf("%s wants a state of %q: %w: %w", p, owner, stateapi.ErrDenied, err)
	}
	if who.Username != owner {
		return fmt.Errorf("%s (%s) wants a state of %q: %w", p, who.Username, owner, stateapi.ErrDenied)
	}
	return nil
}

// checkDefinition refuses what cannot be a namespace.
func checkDefinition(d *stateapi.Definition) error {
	if err := errors.Join(checkName("topology", d.Topology, false), checkName("owner", d.Owner, true),
		checkName("component", d.Component, false)); err != nil {
		return err
	}
	switch {
	case d.Task < 0 || d.Tasks < 1:
		return malformed("task %d of %d tasks", d.Task, d.Tasks)
	case d.Shards < 1 || d.Shards > mostShards || d.Shards&(d.Shards-1) != 0:
		return malformed("%d shards, not a power of two up to %d", d.Shards, mostShards)
	case len(d.Encoder) > longestEncoder:
		return malformed("an encoder of %d bytes, at most %d", len(d.Encoder), longestEncoder)
	}
	return nil
}

func checkName(what, name string, mayBeEmpty bool) error {
	switch {
	case name == "" && !mayBeEmpty:
		return malformed("no %s", what)
	case len(name) > longestName:
		return malformed("a %s of %d bytes, at most %d", what, len(name), longestName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return malformed("%s %q", what, name)
	}
	return nil
}
