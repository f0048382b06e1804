// SPDX-License-Identifier: Apache-2.0

// This file carries out requests.

package server

import (
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/wire"
)

const (
	longestKey   = 32 << 10
	longestValue = 64 << 20
	// mostSessions is how many sessions may be opened on one connection.
	mostSessions = 64 << 10
	// largestPage bounds what an iteration may want at once.
	largestPage = 4 << 20
	keepValue   = 64 << 10
)

func malformed(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, wire.ErrMalformed)...)
}

// handle carries out a request and answers it. An error ends the connection: it is one of the connection, or a message that makes no
// sense, after which nothing can be made of what follows.
func (c *client) handle(f *wire.Frame) error {
	fields := wire.NewFields(f.Body)
	c.out.Begin(f.Type+wire.Answer, f.Request)
	var err error
	if !c.greeted {
		err = c.hello(f, fields)
	} else {
		err = c.carryOut(f, fields)
	}
	if err == nil {
		err = c.send()
		if !errors.Is(err, stateapi.ErrTooLarge) {
			return err
		}
	}
	if c.ctx.Err() != nil && !errors.Is(err, stateapi.ErrFenced) {
		err = errStopping // or the client has gone, and nobody hears it
	}
	fatal := !c.greeted || errors.Is(err, wire.ErrMalformed) || errors.Is(err, errStopping)
	if wire.Code(err) == wire.CodeInternal {
		c.server.log.Error("a request for keyed state failed", zap.Stringer("client", c.peer), zap.Uint8("type", uint8(f.Type)), zap.Error(err))
	}
	c.out.Begin(wire.Error, f.Request)
	wire.AppendError(&c.out, err)
	if sent := c.send(); sent != nil || fatal {
		return errors.Join(err, sent)
	}
	return nil
}

func (c *client) hello(f *wire.Frame, fields *wire.Fields) error {
	magic, version := fields.U32(), fields.U16()
	switch {
	case f.Type != wire.Hello || fields.Err() != nil || magic != wire.Magic:
		return malformed("the first message is no hello of a client of keyed state")
	case version != wire.Version:
		return fmt.Errorf("the client speaks version %d of the state protocol, this server %d: %w", version, wire.Version, wire.ErrVersion)
	}
	c.greeted = true
	c.out.U16(wire.Version)
	return nil
}

func (c *client) carryOut(f *wire.Frame, fields *wire.Fields) error {
	select {
	case <-c.server.store.Ready():
	default:
		return fmt.Errorf("states are being read from the disk: %w", stateapi.ErrNotReady)
	}
	if f.Type >= wire.List {
		return c.administer(f, fields)
	}
	if f.Type == wire.Open {
		return c.open(fields)
	}
	session := fields.U64()
	if _, ok := c.sessions[session]; !ok && fields.Err() == nil {
		return fmt.Errorf("session %x was not opened on this connection: %w", session, stateapi.ErrDenied)
	}
	switch f.Type {
	case wire.Prepare:
		return c.prepare(fields, session)
	case wire.Commit:
		return c.commit(fields, session)
	case wire.Write:
		return c.write(fields, session)
	case wire.Rollback:
		if err := fields.End(); err != nil {
			return err
		}
		return c.server.store.Rollback(c.ctx, session)
	case wire.Get:
		return c.get(fields, session)
	case wire.Iterate:
		return c.iterate(fields, session)
	case wire.Drop:
		if err := fields.End(); err != nil {
			return err
		}
		return c.server.store.Drop(c.ctx, session)
	default:
		return malformed("unknown request type %d", f.Type)
	}
}

func (c *client) open(fields *wire.Fields) error {
	ask := wire.ReadOpenRequest(fields)
	if err := fields.End(); err != nil {
		return err
	}
	if err := checkDefinition(&ask.Definition); err != nil {
		return err
	}
	if err := c.server.mayOpen(c.peer, ask.Owner); err != nil {
		return err
	}
	if len(c.sessions) >= mostSessions {
		return fmt.Errorf("%d sessions on one connection: %w", len(c.sessions), stateapi.ErrTooLarge)
	}
	o, err := c.server.store.Open(c.ctx, ask.Definition, ask.Resume)
	if err != nil {
		return err
	}
	if c.server.cfg.Opened != nil {
		c.server.cfg.Opened(ask.Definition, o)
	}
	c.mu.Lock()
	c.sessions[o.Session] = struct{}{}
	c.mu.Unlock()
	answer := wire.Opened{
		Session: o.Session, ArenaPath: o.ArenaPath, ArenaID: o.ArenaID, Descriptor: o.Descriptor, NamespaceID: o.NamespaceID,
		Commit: o.Commit, Prepared: o.Prepared, TxID: o.TxID, Batch: o.Batch,
	}
	answer.Append(&c.out)
	return nil
}

// batch checks a request's batch, the last field, and makes it the store's.
func (c *client) batch(fields *wire.Fields) ([]byte, error) {
	encoded := fields.Bytes()
	if err := fields.End(); err != nil {
		return nil, err
	}
	err := stateapi.Operations(encoded, func(_ byte, key, value []byte) error {
		if len(key) > longestKey || len(value) > longestValue {
			return fmt.Errorf("key of %d bytes, value of %d bytes, at most %d and %d: %w", len(key), len(value), longestKey, longestValue, stateapi.ErrTooLarge)
		}
		return nil
	})
	if errors.Is(err, stateapi.ErrCorrupt) {
		return nil, malformed("batch: %w", err)
	}
	return c.in.Keep(encoded), err
}

func (c *client) prepare(fields *wire.Fields, session uint64) error {
	txid := int64(fields.U64())
	batch, err := c.batch(fields)
	if err != nil {
		return err
	}
	return c.server.store.Prepare(c.ctx, session, txid, batch)
}

func (c *client) commit(fields *wire.Fields, session uint64) error {
	txid := int64(fields.U64())
	if err := fields.End(); err != nil {
		return err
	}
	number, err := c.server.store.Commit(c.ctx, session, txid)
	c.out.U64(number)
	return err
}

func (c *client) write(fields *wire.Fields, session uint64) error {
	batch, err := c.batch(fields)
	if err != nil {
		return err
	}
	number, err := c.server.store.Write(c.ctx, session, batch)
	c.out.U64(number)
	return err
}

func (c *client) get(fields *wire.Fields, session uint64) error {
	key := fields.Bytes()
	if err := fields.End(); err != nil {
		return err
	}
	value, found, err := c.server.store.Get(c.ctx, session, c.value[:0], key)
	if err != nil {
		return err
	}
	c.out.Bool(found)
	c.out.Bytes(value)
	if c.value = value; cap(value) > keepValue {
		c.value = nil
	}
	return nil
}

func (c *client) iterate(fields *wire.Fields, session uint64) error {
	cursor, want := fields.U64(), fields.U32()
	if err := fields.End(); err != nil {
		return err
	}
	entries, next, err := c.server.store.Iterate(c.ctx, session, cursor, int(min(want, largestPage)))
	if err != nil {
		return err
	}
	c.out.U64(next)
	c.out.U32(uint32(len(entries)))
	for i := range entries {
		c.out.Bytes(entries[i].Key)
		c.out.Bytes(entries[i].Value)
		if c.out.Len() > wire.MaxFrame {
			return fmt.Errorf("a page of more than %d bytes: %w", wire.MaxFrame, stateapi.ErrTooLarge)
		}
	}
	return nil
}
