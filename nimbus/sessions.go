// SPDX-License-Identifier: Apache-2.0

// Transfers in pieces: uploads, downloads and listings that a client goes on with call by call, and that end by themselves when
// the client does not come back.

package nimbus

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gust-stream/gust/internal/openfiles"
)

// errNoSession is what a call gets that names a transfer which does not exist or has expired.
var errNoSession = errors.New("no such session, or it timed out")

// session is one transfer: value is used by one call at a time.
type session[T any] struct {
	mu    sync.Mutex
	value T
	// ended is guarded by mu.
	ended bool
	// used and counted, which says that a file was taken for it, are guarded by the mutex of the table.
	used    time.Time
	counted bool
}

// sessions is a table of transfers by key, bounded in number.
type sessions[T any] struct {
	ttl   time.Duration
	limit int
	files *openfiles.Share // one taken for each transfer
	// drop gives back what a transfer holds that is not finished.
	drop func(T)

	mu sync.Mutex
	// guarded by mu
	byKey map[string]*session[T]
}

func newSessions[T any](ttl time.Duration, limit int, files *openfiles.Share, drop func(T)) *sessions[T] {
	return &sessions[T]{ttl: ttl, limit: limit, files: files, drop: drop, byKey: map[string]*session[T]{}}
}

// open adds a transfer. When the table is full or no file is left for it, the one that was not used for longest is dropped for it:
// somebody who begins transfers and never goes on with them must not keep others from theirs until those time out.
func (s *sessions[T]) open(key string, value T, now time.Time) {
	var oldest *session[T]
	s.mu.Lock()
	counted := len(s.byKey) < s.limit && s.files.Take()
	if !counted && len(s.byKey) > 0 {
		oldest = s.takeOldest()
		counted, oldest.counted = oldest.counted, false
	}
	s.byKey[key] = &session[T]{value: value, used: now, counted: counted}
	s.mu.Unlock()
	if oldest != nil {
		s.dropped(oldest)
	}
}

// takeOldest removes the transfer from the table that was not used for longest; the caller holds mu.
func (s *sessions[T]) takeOldest() *session[T] {
	var oldest string
	for key, t := range s.byKey {
		if before := s.byKey[oldest]; before == nil || t.used.Before(before.used) {
			oldest = key
		}
	}
	t := s.byKey[oldest]
	delete(s.byKey, oldest)
	return t
}

// remove takes a transfer out of the table and gives its file back; the caller holds mu.
func (s *sessions[T]) remove(key string) *session[T] {
	t := s.byKey[key]
	delete(s.byKey, key)
	if t != nil && t.counted {
		s.files.Give()
	}
	return t
}

// dropped ends a transfer that is no longer in the table.
func (s *sessions[T]) dropped(t *session[T]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	s.drop(t.value)
}

// use runs f with the value of a transfer; calls for one transfer run one after the other.
func (s *sessions[T]) use(key string, now time.Time, f func(*T) error) error {
	s.mu.Lock()
	t := s.byKey[key]
	if t != nil {
		t.used = now
	}
	s.mu.Unlock()
	if t == nil {
		return fmt.Errorf("session %q: %w", key, errNoSession)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return fmt.Errorf("session %q: %w", key, errNoSession)
	}
	return f(&t.value)
}

// end takes a transfer out of the table and hands over its value; what it holds is now the caller's.
func (s *sessions[T]) end(key string) (T, error) {
	var none T
	s.mu.Lock()
	t := s.remove(key)
	s.mu.Unlock()
	if t == nil {
		return none, fmt.Errorf("session %q: %w", key, errNoSession)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	return t.value, nil
}

// expire drops the transfers that nobody has used for the time to live.
func (s *sessions[T]) expire(now time.Time) {
	s.dropWhere(func(t *session[T]) bool { return now.Sub(t.used) >= s.ttl })
}

// close drops all transfers.
func (s *sessions[T]) close() {
	s.dropWhere(func(*session[T]) bool { return true })
}

func (s *sessions[T]) dropWhere(want func(*session[T]) bool) {
	var gone []*session[T]
	s.mu.Lock()
	for key, t := range s.byKey {
		if want(t) {
			gone = append(gone, s.remove(key))
		}
	}
	s.mu.Unlock()
	for _, t := range gone {
		s.dropped(t)
	}
}
