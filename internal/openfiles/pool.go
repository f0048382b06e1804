// SPDX-License-Identifier: Apache-2.0

// Package openfiles shares out how many files the operating system lets this process have open: connections, transfers and
// everything else count against one number, and whoever takes the last one must not be a stranger.
//
// A part of the process with something to bound (a listener, a table of transfers) gets a Share: some files that are its own,
// and more from a pool while that lasts. What no Share gives out is left for the process itself, so that stores, logs and calls
// to others find a free descriptor whatever peers do. The package stands for no Storm class.
package openfiles

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// ownPart is the part of all files that a Share has for its own.
	ownPart = 16
	// restPart is the part that is never shared out, and mostRest the most that it needs to be.
	restPart, mostRest = 4, 2048
)

// Pool holds the files that a process may have open. It is safe for concurrent use.
type Pool struct {
	limit int

	mu   sync.Mutex
	free int // guarded by mu
}

// OfProcess gives the files that this process may have open. Go has raised the soft limit to the hard one by now.
func OfProcess() (*Pool, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return nil, fmt.Errorf("read the limit of open files: %w", err)
	}
	return New(int(min(limit.Cur, 1<<30))), nil
}

// New gives limit files.
func New(limit int) *Pool {
	return &Pool{limit: limit, free: limit - min(limit/restPart, mostRest)}
}

// Share gives a part of the process its share.
func (p *Pool) Share() *Share {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := min(p.limit/ownPart, p.free)
	p.free -= own
	return &Share{pool: p, own: own}
}

// Share is what one part of the process may have open. A nil Share gives without end.
type Share struct {
	pool *Pool

	// guarded by pool.mu
	own      int // not taken, of those that are its own
	borrowed int // taken from the pool
}

// Take takes one file, unless there is none left.
func (s *Share) Take() bool {
	if s == nil {
		return true
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	switch {
	case s.own > 0:
		s.own--
	case s.pool.free > 0:
		s.pool.free--
		s.borrowed++
	default:
		return false
	}
	return true
}

// Give gives one back that was taken, to the pool first.
func (s *Share) Give() {
	if s == nil {
		return
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if s.borrowed > 0 {
		s.borrowed--
		s.pool.free++
		return
	}
	s.own++
}
