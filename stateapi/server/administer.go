// SPDX-License-Identifier: Apache-2.0

// This file answers "gust state".

package server

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/wire"
)

// maxReport bounds the text that says what is damaged.
const maxReport = 1 << 20

func (c *client) administer(f *wire.Frame, fields *wire.Fields) error {
	if !c.server.trusted(c.peer) {
		return fmt.Errorf("%s looks after states: %w", c.peer, stateapi.ErrDenied)
	}
	var name stateapi.Name
	if f.Type == wire.Remove {
		name = wire.ReadName(fields)
	}
	if err := fields.End(); err != nil {
		return err
	}
	switch f.Type {
	case wire.List:
		c.list()
	case wire.Verify:
		text := ""
		if damage := c.server.store.Verify(c.ctx); damage != nil {
			text = damage.Error()
		}
		c.out.String(text[:min(len(text), maxReport)])
		return c.ctx.Err()
	case wire.Remove:
		c.server.log.Info("remove state", zap.String("topology", name.Topology), zap.String("owner", name.Owner),
			zap.String("component_id", name.Component), zap.Int32("task_id", name.Task), zap.Stringer("client", c.peer))
		return c.server.store.Remove(c.ctx, name)
	case wire.Snapshot:
		return c.server.store.Snapshot(c.ctx)
	default:
		return malformed("unknown request type %d", f.Type)
	}
	return nil
}

func (c *client) list() {
	open := map[uint64]struct{}{}
	for _, other := range c.server.all() {
		other.mu.Lock()
		for session := range other.sessions {
			open[session] = struct{}{}
		}
		other.mu.Unlock()
	}
	all := c.server.store.Namespaces()
	c.out.U32(uint32(len(all)))
	for i := range all {
		n := &all[i]
		_, connected := open[n.Session]
		info := wire.Info{
			Definition: n.Definition, Session: n.Session, Commit: n.Commit, Applied: n.Applied, Prepared: n.Prepared, TxID: n.TxID,
			Entries: n.Entries, Bytes: n.Bytes, Opened: n.Opened.UnixMilli(), Connected: connected,
		}
		if n.Damage != nil {
			info.Damage = n.Damage.Error()
		}
		info.Append(&c.out)
	}
}
