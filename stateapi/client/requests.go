// SPDX-License-Identifier: Apache-2.0

package client

// This file holds what a state asks of its server.

import (
	"context"
	"slices"
)

func (s *session) prepare(txid int64, batch []byte) error {
	return s.ask(askPrepare, func(c *conn) {
		c.u64(uint64(txid))
		c.bytes(batch)
	}, nil)
}

func (s *session) commit(txid int64) (number uint64, err error) {
	err = s.ask(askCommit, func(c *conn) { c.u64(uint64(txid)) }, func(a *fields) { number = a.u64() })
	return number, err
}

func (s *session) write(batch []byte) (number uint64, err error) {
	err = s.ask(askWrite, func(c *conn) { c.bytes(batch) }, func(a *fields) { number = a.u64() })
	return number, err
}

func (s *session) rollback() error { return s.ask(askRollback, nil, nil) }

// get asks the server for a key.
func (s *session) get(dst, key []byte) ([]byte, bool, error) {
	found := false
	err := s.ask(askGet, func(c *conn) { c.bytes(key) }, func(a *fields) {
		found = a.u8() != 0
		if value := a.bytes(); found && a.err == nil {
			dst = append(dst, value...)
		}
	})
	return dst, found, err
}

// iterate asks for entries from a cursor on, and where to go on; 0 is the end.
func (s *session) iterate(cursor uint64) (page []pair, next uint64, err error) {
	err = s.ask(askIterate, func(c *conn) {
		c.u64(cursor)
		c.u32(pageSize)
	}, func(a *fields) {
		next = a.u64()
		page = page[:0]
		count := a.u32()
		whole := &fields{rest: slices.Clone(a.rest)}
		for range count {
			page = append(page, pair{whole.bytes(), whole.bytes()})
			if whole.err != nil {
				a.err = whole.err
				return
			}
		}
	})
	return page, next, err
}

// ask asks for something in this session. body and answer may run again if the server goes away.
func (s *session) ask(kind byte, body func(*conn), answer func(*fields)) error {
	return s.do(context.Background(), func(c *conn) error {
		c.begin(kind)
		c.u64(s.id)
		if body != nil {
			body(c)
		}
		a, err := c.ask()
		if err != nil {
			return err
		}
		if answer != nil {
			answer(a)
		}
		return a.err
	})
}
