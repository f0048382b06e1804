// SPDX-License-Identifier: Apache-2.0

package container

// This file knows processes by pid and start time, and holds on to one so that its pid cannot come to mean another.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity names a process for good: the kernel gives a pid again, but not with the same start time.
type identity struct {
	pid   int
	start uint64 // in clock ticks since boot
}

// status is what /proc/<pid>/stat tells.
type status struct {
	identity
	parent  int
	session int
	dead    bool // a zombie: it has ended and waits for its parent
}

// readStatus reads a process; an error wraps fs.ErrNotExist or ESRCH if there is none of that pid.
func readStatus(pid int) (status, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return status{}, err
	}
	return parseStatus(pid, text)
}

// parseStatus reads the line of a stat file. The program's name, in brackets, may itself hold brackets and spaces.
func parseStatus(pid int, text []byte) (status, error) {
	_, tail, ok := bytes.Cut(text[max(bytes.LastIndexByte(text, ')'), 0):], []byte(") "))
	fields := strings.Fields(string(tail))
	if !ok || len(fields) < 20 {
		return status{}, fmt.Errorf("process %d has a status of %d fields", pid, len(fields))
	}
	s := status{identity: identity{pid: pid}, dead: fields[0] == "Z" || fields[0] == "X"}
	var err1, err2, err3 error
	s.parent, err1 = strconv.Atoi(fields[1])
	s.session, err2 = strconv.Atoi(fields[3])
	s.start, err3 = strconv.ParseUint(fields[19], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return status{}, fmt.Errorf("status of process %d: %w", pid, err)
	}
	return s, nil
}

func identify(pid int) (identity, error) {
	s, err := readStatus(pid)
	return s.identity, err
}

// alive says whether this very process runs.
func (i identity) alive() bool {
	if i.pid == 0 {
		return false
	}
	s, err := readStatus(i.pid)
	return err == nil && s.identity == i && !s.dead
}

// handle holds a process. Where the kernel has no pidfds, every use checks the identity anew, which leaves a gap of
// microseconds in which the pid could come to mean another process.
type handle struct {
	identity

	mu sync.Mutex
	fd int // guarded by mu; -1 without a pidfd
}

// openProcess holds the process; ok is false if it has ended.
func openProcess(i identity) (h *handle, ok bool) {
	fd, err := unix.PidfdOpen(i.pid, 0)
	if err != nil {
		fd = -1
	}
	h = &handle{identity: i, fd: fd}
	// The pidfd may be that of a later process of the same pid, so look after opening: from here on it cannot change.
	if errors.Is(err, unix.ESRCH) || !i.alive() {
		h.close()
		return nil, false
	}
	return h, true
}

func (h *handle) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fd >= 0 {
		_ = unix.Close(h.fd) // a pidfd holds nothing that could be lost
	}
	h.fd = -1
}

// pollFD is the descriptor that becomes readable when the process ends, or -1 if there is none.
func (h *handle) pollFD() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fd
}

// gone says whether the process has ended.
func (h *handle) gone() bool { return !h.alive() }

// signal sends sig; that the process has ended is no error.
func (h *handle) signal(sig syscall.Signal) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	switch {
	case h.fd >= 0:
		err = unix.PidfdSendSignal(h.fd, sig, nil, 0)
	case h.alive():
		err = unix.Kill(h.pid, sig)
	}
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// argv reads a process's arguments, nil if it has ended or is not ours to read.
func argv(pid int) []string { return readList(pid, "cmdline") }

// environ reads the environment that a process was started with, nil as with argv.
func environ(pid int) []string { return readList(pid, "environ") }

func readList(pid int, name string) []string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + name)
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// cutEnv splits NAME=value.
func cutEnv(entry string) (name, value string, ok bool) { return strings.Cut(entry, "=") }

// processes lists all processes that run, by pid.
func processes() (map[int]status, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	if cerr := dir.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	found := make(map[int]status, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := readStatus(pid); err == nil && !s.dead {
			found[pid] = s
		}
	}
	return found, nil
}
