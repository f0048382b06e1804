// SPDX-License-Identifier: Apache-2.0

package client

// This file reads the arena in place.

import (
	"errors"
	"fmt"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
	tables "github.com/gust-stream/gust/stateapi/table"
)

// table is the server's table of this state, mapped.
type table struct {
	view   *arena.View
	reader *tables.Reader
}

// mapTable maps what an opening named. An arena that has been retired meanwhile is a server that is being started again.
func mapTable(o *opened) (*table, error) {
	view, err := arena.Map(o.Arena, o.ArenaID)
	if errors.Is(err, tables.ErrRetired) {
		err = errors.Join(err, stateapi.ErrNotReady)
	}
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", o.Arena, err)
	}
	reader, err := tables.NewReader(view, o.Descriptor, o.Namespace)
	if err != nil {
		return nil, errors.Join(err, view.Close())
	}
	return &table{view: view, reader: reader}, nil
}

// Get appends the committed value of key to dst.
func (t *table) Get(dst, key []byte) ([]byte, bool, error) {
	value, found, err := t.reader.Get(dst, key)
	return value, found, err
}

// Applied is a commit that the table has, with all before it; 0 if the arena has been retired.
func (t *table) Applied() uint64 {
	commit, err := t.reader.Applied()
	if err != nil {
		return 0
	}
	return commit
}

// Retired says whether the state must be opened again.
func (t *table) Retired() bool {
	_, err := t.reader.Applied()
	return err != nil
}

// gone says whether a Get failed because the state must be opened again; else the server has to be asked.
func (t *table) gone(err error) bool { return errors.Is(err, tables.ErrRetired) }

func (t *table) close() { _ = t.view.Close() }
