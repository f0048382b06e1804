// SPDX-License-Identifier: Apache-2.0

// This file reads a namespace in pages.

package shard

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/segment"
)

// pageSlack is added to what a page may have at most.
const pageSlack = 1 << 20

// Iterate returns all committed entries of whole segments from cursor (0 at first) on, about want bytes of them, and the next cursor,
// 0 at the end. Where long values would make the page much larger, it ends within a segment.
func (s *Store) Iterate(ctx context.Context, session, cursor uint64, want int) ([]Entry, uint64, error) {
	n, err := s.reading(ctx, session)
	if err != nil {
		return nil, 0, err
	}
	defer n.mu.Unlock()
	return n.page(cursor, want)
}

// Entries is Iterate without a session: it fences nobody.
func (s *Store) Entries(ctx context.Context, name stateapi.Name, cursor uint64, want int) ([]Entry, uint64, error) {
	n := s.find(name)
	if n == nil {
		return nil, 0, fmt.Errorf("state of task %d of %s of topology %s is not here", name.Task, name.Component, name.Topology)
	}
	if err := n.current(ctx); err != nil {
		return nil, 0, err
	}
	defer n.mu.Unlock()
	return n.page(cursor, want)
}

// page: the caller holds mu.
func (n *namespace) page(cursor uint64, want int) (page []Entry, next uint64, err error) {
	for size := 0; ; {
		last, err := n.fitting(cursor, 4*want+pageSlack-size, len(page) > 0)
		if err != nil {
			return nil, 0, err
		}
		if last < cursor { // nothing more fits
			return page, cursor, nil
		}
		next, err = n.table.EachIn(cursor, func(key, value []byte) bool {
			if h := segment.Hash(key); h >= cursor && h <= last {
				page = append(page, Entry{Key: bytes.Clone(key), Value: bytes.Clone(value)})
				size += len(key) + len(value)
			}
			return true
		})
		if err != nil {
			return nil, 0, err
		}
		if last != ^uint64(0) {
			return page, last + 1, nil
		}
		if cursor = next; next == 0 || size >= want {
			return page, next, nil
		}
	}
}

// fitting is the last hash up to which a segment's entries from cursor on fit into a page: the highest there is if all do, one below cursor
// if none does. Into an empty page one hash fits in any case.
func (n *namespace) fitting(cursor uint64, room int, begun bool) (uint64, error) {
	type entry struct {
		hash uint64
		size int
	}
	var entries []entry
	total := 0
	_, err := n.table.EachIn(cursor, func(key, value []byte) bool {
		if h := segment.Hash(key); h >= cursor {
			entries = append(entries, entry{h, len(key) + len(value)})
			total += len(key) + len(value)
		}
		return true
	})
	if err != nil || total <= room {
		return ^uint64(0), err
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.hash, b.hash) })
	fits := 0
	for i, e := range entries {
		same := i > 0 && e.hash == entries[i-1].hash
		if fits += e.size; fits > room && !same && (i > 0 || begun) {
			return e.hash - 1, nil
		}
	}
	return ^uint64(0), nil
}
