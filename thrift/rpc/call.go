// SPDX-License-Identifier: Apache-2.0

// One call: finding its handler, a place to run, and an answer in every case.

package rpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"syscall"

	"github.com/apache/thrift/lib/go/thrift"
	"go.uber.org/zap"
)

const (
	// maxName bounds the name of a method; Storm's longest has 36 bytes. A
	// longer one is noise, and would come back twice in its answer.
	maxName = 256
	// internalError is how Storm's answer to a fault of its own begins; the method follows.
	internalError = "Internal error processing "
	// smallReply is what a reply may hold, in bytes, without asking the budget.
	smallReply = smallestBuffer
)

// header is the head of a message.
type header struct {
	method string
	kind   thrift.TMessageType
	seq    int32
}

// call answers one frame. False means that the connection cannot go on.
func (c *conn) call(ctx context.Context, fr *frame) bool {
	s := c.server
	m, _ := s.messages.Get().(*message)
	m.mem.reset(fr.data)
	defer func() {
		fr.release()
		m.forget()
		s.messages.Put(m)
	}()
	h, err := readHeader(ctx, m)
	if err != nil {
		s.log.Warn("message refused", zap.Stringer("peer", c.peer.Addr), zap.Error(err))
		return false
	}
	if err := s.takePlace(ctx); err != nil {
		s.log.Warn("call turned away", zap.String("method", h.method), zap.Stringer("peer", c.peer.Addr), zap.Error(err))
		m.except(h, thrift.INTERNAL_ERROR, fmt.Sprintf("%s: %v", h.method, err))
		return c.send(m, nil)
	}
	body, ok := s.answer(ctx, c, m, h)
	fr.release()
	if !ok {
		s.leavePlace()
		return false
	}
	// A peer that reads slowly must not keep others from being served, nor
	// may many of them keep their replies in memory without bound. So a call
	// leaves its place before the reply is written, unless there are too many
	// bytes of such replies already.
	size := int64(len(m.mem.out) + len(body))
	if size <= smallReply {
		s.leavePlace()
		return c.send(m, body)
	}
	if !s.budget.TryAcquire(size) {
		defer s.leavePlace()
		return c.send(m, body)
	}
	defer s.budget.Release(size)
	s.leavePlace()
	return c.send(m, body)
}

// send writes the reply in m, continued by body. A oneway call has none.
func (c *conn) send(m *message, body []byte) bool {
	if len(m.mem.written()) == 0 {
		return true
	}
	if err := c.reply(m.mem.out, body); err != nil {
		c.server.log.Debug("reply lost", zap.Stringer("peer", c.peer.Addr), zap.Error(err))
		return false
	}
	return true
}

// takePlace waits until fewer than Config.Workers calls run.
func (s *Server) takePlace(ctx context.Context) error {
	select {
	case s.places <- struct{}{}:
		return nil
	default:
	}
	defer s.waiting.Add(-1)
	if n := s.waiting.Add(1); n > int64(s.cfg.QueueLen) {
		return fmt.Errorf("server is busy, %d calls are waiting already", n-1)
	}
	select {
	case s.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errors.New("server is stopping")
	}
}

func (s *Server) leavePlace() { <-s.places }

// readHeader reads the head of a message, versioned or not.
func readHeader(ctx context.Context, m *message) (header, error) {
	name, kind, seq, err := m.prot.ReadMessageBegin(ctx)
	switch {
	case err != nil:
		return header{}, fmt.Errorf("read message head: %w", err)
	case len(name) > maxName:
		return header{}, fmt.Errorf("method name of %d bytes", len(name))
	case kind != thrift.CALL && kind != thrift.ONEWAY:
		return header{}, fmt.Errorf("message of kind %d where a call is expected", kind)
	}
	return header{method: name, kind: kind, seq: seq}, nil
}

// answer runs the handler and leaves the reply in m, or its head there and
// the rest in body. False means that there is none and the peer must see
// that by losing its connection.
func (s *Server) answer(ctx context.Context, c *conn, m *message, h header) (body []byte, ok bool) {
	defer func() {
		if fault := recover(); fault != nil {
			s.log.Error("handler panicked", zap.String("method", h.method), zap.Stringer("peer", c.peer.Addr),
				zap.Any("panic", fault), zap.ByteString("stack", debug.Stack()))
			m.fail(h)
			body, ok = nil, true
		}
	}()
	fn := s.methods[h.method]
	if fn == nil {
		s.log.Warn("unknown method", zap.String("method", h.method), zap.Stringer("peer", c.peer.Addr))
		m.except(h, thrift.UNKNOWN_METHOD, "Invalid method name: '"+h.method+"'")
		return nil, true
	}
	if encoded := s.cfg.Encoded[h.method]; encoded != nil {
		if body, ok = encoded(ctx, m.mem.in[m.mem.off:]); ok {
			m.mem.out = appendHeader(m.mem.out, thrift.REPLY, h.method, h.seq)
			if size := len(m.mem.written()) + len(body); size > s.cfg.MaxEncoded {
				s.tooLarge(c, m, h, size, s.cfg.MaxEncoded)
				return nil, true
			}
			return body, true
		}
	}
	_, err := fn.Process(ctx, h.seq, m.prot, m.prot)
	return nil, s.settle(ctx, c, m, h, err)
}

// settle looks at what generated code left behind, and makes it what Storm's
// server would have sent.
func (s *Server) settle(ctx context.Context, c *conn, m *message, h header, err error) bool {
	if m.mem.over > 0 {
		s.tooLarge(c, m, h, m.mem.over, s.cfg.MaxFrame)
		return true
	}
	if err == nil {
		return true
	}
	if errors.Is(err, thrift.ErrAbandonRequest) {
		return false
	}
	fields := []zap.Field{zap.String("method", h.method), zap.Stringer("peer", c.peer.Addr), zap.Error(err)}
	switch kindOf(ctx, m.mem.written()) {
	case isReply: // a declared exception, which is nobody's fault
		s.log.Debug("call refused", fields...)
		return true
	case thrift.PROTOCOL_ERROR:
		// Generated code has answered already: it could not read the arguments.
		s.log.Warn("arguments refused", fields...)
		return true
	}
	s.log.Error("call failed", fields...)
	if app, ok := errors.AsType[thrift.TApplicationException](err); ok {
		m.except(h, app.TypeId(), app.Error())
		return true
	}
	// The generated answer carries the text of the error: that is for the
	// log, not for the peer. Only that the disk is full says nothing of what
	// lies on it, and helps whoever must make room.
	if errors.Is(err, syscall.ENOSPC) {
		m.except(h, thrift.INTERNAL_ERROR, internalError+h.method+": "+syscall.ENOSPC.Error())
		return true
	}
	m.fail(h)
	return true
}

// tooLarge answers with an exception in place of a reply that no peer with
// the same bound could read.
func (s *Server) tooLarge(c *conn, m *message, h header, size, limit int) {
	s.log.Error("reply is above the frame limit", zap.String("method", h.method), zap.Stringer("peer", c.peer.Addr),
		zap.Int("bytes", size), zap.Int("limit", limit))
	text := fmt.Sprintf("%s%s: the reply is above the limit of %d bytes", internalError, h.method, limit)
	if s.cfg.FrameKey != "" {
		text += fmt.Sprintf("; raise %s here and where you ask from", s.cfg.FrameKey)
	}
	m.except(h, thrift.INTERNAL_ERROR, text)
}

// fail makes the answer to a call whose handler went wrong.
func (m *message) fail(h header) {
	m.except(h, thrift.INTERNAL_ERROR, internalError+h.method)
}

// except replaces what was written by an exception. A oneway call gets none.
func (m *message) except(h header, kind int32, text string) {
	m.mem.clear()
	if h.kind != thrift.ONEWAY {
		m.mem.out = appendException(m.mem.out, h.method, h.seq, kind, text)
	}
}

// What an encoded message can be besides an exception of one of Thrift's types.
const (
	isReply   int32 = -1
	isNothing int32 = -2
)

// kindOf tells what generated code has written: a reply, an exception of some
// type, or nothing that a client could read.
func kindOf(ctx context.Context, encoded []byte) int32 {
	m := newMessage(len(encoded))
	m.mem.reset(encoded)
	_, kind, _, err := m.prot.ReadMessageBegin(ctx)
	switch {
	case err == nil && kind == thrift.REPLY:
		return isReply
	case err != nil || kind != thrift.EXCEPTION:
		return isNothing
	}
	ex := thrift.NewTApplicationException(0, "")
	if err := ex.Read(ctx, m.prot); err != nil {
		return isNothing
	}
	return ex.TypeId()
}
