// SPDX-License-Identifier: Apache-2.0

// Sessions over time: opened, resumed on another connection, expired.

package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/zookeeper/jute"
	"github.com/gust-stream/gust/zookeeper/tree"
)

// passwordSize is that of ZooKeeper's session passwords.
const passwordSize = 16

// password of a session follows from its id and the store's secret, so that a
// restarted server knows it.
func (e *engine) password(id int64) []byte {
	h := hmac.New(sha256.New, e.st.secret)
	_ = binary.Write(h, binary.BigEndian, id) // a hash takes everything
	return h.Sum(nil)[:passwordSize]
}

// newSessionID is random, because nobody may guess one, and positive.
func (e *engine) newSessionID() (int64, error) {
	for {
		var b [8]byte
		if _, err := rand.Read(b[1:]); err != nil {
			return 0, err
		}
		if id := int64(binary.BigEndian.Uint64(b[:])); id != 0 && !e.tree.HasSession(id) {
			return id, nil
		}
	}
}

// hello handles the first frame of a connection. Whatever is wrong with it, the
// connection is closed, as the original does.
func (e *engine) hello(c *conn, frame []byte) {
	r, err := jute.DecodeConnect(frame)
	if err != nil {
		e.logs.Debug("bad connect request", zap.Stringer("peer", c.nc.RemoteAddr()), zap.Error(err))
		c.close()
		return
	}
	if r.LastZxid > e.tree.Zxid() {
		e.logs.Warn("client has seen a later zxid than ours", zap.Stringer("peer", c.nc.RemoteAddr()),
			zap.Int64("seen", r.LastZxid), zap.Int64("zxid", e.tree.Zxid()))
		c.close()
		return
	}
	c.timeout = min(max(time.Duration(r.Timeout)*time.Millisecond, e.s.cfg.MinSessionTimeout), e.s.cfg.MaxSessionTimeout)
	id := r.Session
	if id == 0 {
		if id = e.openSession(c); id == 0 {
			c.close()
			return
		}
	} else if !e.resume(c, id, r.Password) {
		start := e.begin()
		e.cur.out = jute.ConnectResponse{Password: make([]byte, passwordSize), WithReadOnly: r.HasReadOnly}.Append(e.cur.out)
		e.end(c, start, 1, true)
		return
	}
	c.client = &tree.Client{ID: c.id, Session: id, Auth: []jute.ID{{Scheme: "ip", ID: host(c.nc)}}}
	e.s.greeted(c)
	start := e.begin()
	e.cur.out = jute.ConnectResponse{
		Timeout: int32(c.timeout / time.Millisecond), Session: id, Password: e.password(id), WithReadOnly: r.HasReadOnly,
	}.Append(e.cur.out)
	e.end(c, start, 1, false)
}

// openSession makes a session, 0 if that cannot be made durable.
func (e *engine) openSession(c *conn) int64 {
	id, err := e.newSessionID()
	if err != nil || !e.reserve(0) {
		return 0
	}
	before := len(e.cur.log)
	e.cur.log = e.tree.OpenSession(id, int32(c.timeout/time.Millisecond), e.s.wall().UnixMilli(), e.cur.log)
	e.sessions[id] = &session{timeout: c.timeout, deadline: e.expiry(c.timeout), conn: c}
	e.changed(before)
	return id
}

// resume attaches a live session to a new connection; an older one is closed.
func (e *engine) resume(c *conn, id int64, password []byte) bool {
	ses := e.sessions[id]
	if ses == nil || !hmac.Equal(password, e.password(id)) {
		return false
	}
	if old := ses.conn; old != nil {
		e.tree.Forget(old.client)
		old.close()
	}
	ses.conn, ses.timeout = c, c.timeout
	ses.deadline = e.expiry(ses.timeout)
	return true
}

// gone handles the end of a connection. Its session lives on until it expires.
func (e *engine) gone(c *conn) {
	if c.client == nil {
		return
	}
	e.tree.Forget(c.client)
	if ses := e.sessions[c.client.Session]; ses != nil && ses.conn == c {
		ses.conn = nil
	}
}

// closeSession ends a session, with its ephemeral znodes. False: the disk is full.
func (e *engine) closeSession(id int64) bool {
	if !e.reserve(0) {
		return false
	}
	before := len(e.cur.log)
	e.cur.log = e.tree.CloseSession(id, e.s.wall().UnixMilli(), e.cur.log)
	e.changed(before)
	delete(e.sessions, id)
	return true
}

// expiry is when a session that is heard of now would end. Half a tick more than
// asked, because that is how late now may be.
func (e *engine) expiry(timeout time.Duration) time.Duration {
	return e.clock + timeout + e.s.cfg.TickTime/2
}

// tick advances the engine's clock and expires sessions. The clock is monotonic, and
// it never jumps: if this process or its disk stood still, clients had no chance to be
// heard, and the time does not count against them.
func (e *engine) tick() {
	now := e.s.mono()
	e.clock += min(now-e.lastTick, e.s.cfg.TickTime)
	e.lastTick = now
	for id, ses := range e.sessions {
		if ses.deadline > e.clock || e.cur.full() {
			continue
		}
		c := ses.conn
		if !e.closeSession(id) {
			return // later, when the disk has room
		}
		e.logs.Info("session expired", zap.Int64("session", id), zap.Duration("timeout", ses.timeout))
		if c != nil {
			e.tree.Forget(c.client)
			c.close()
		}
	}
	if now-e.lastReap >= e.s.cfg.ContainerCheck {
		e.lastReap = now
		e.reap()
	}
}

// reap deletes container znodes that have lost all their children.
func (e *engine) reap() {
	for _, path := range e.tree.Containers() {
		if e.cur.full() || !e.reserve(len(path)) {
			return
		}
		before := len(e.cur.log)
		e.cur.log = e.tree.DeleteContainer(path, e.s.wall().UnixMilli(), e.cur.log)
		e.changed(before)
	}
}

func host(nc net.Conn) string {
	h, _, err := net.SplitHostPort(nc.RemoteAddr().String())
	if err != nil {
		return nc.RemoteAddr().String()
	}
	return h
}
