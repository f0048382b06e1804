// SPDX-License-Identifier: Apache-2.0

// The transport that protocols of this package read from and write to: one
// message in memory.

package rpc

import (
	"context"
	"io"

	"github.com/apache/thrift/lib/go/thrift"
)

// memory is a thrift.TTransport over one received frame and one frame to be
// sent. Room for the prefix of the latter comes first.
type memory struct {
	in  []byte
	off int

	out   []byte
	limit int // of out, prefix not counted
	// over is set by a write that would have gone past the limit, with the
	// least size that the frame would have had.
	over int
}

// reset makes the transport ready for the next message. The memory for
// writing is kept.
func (m *memory) reset(in []byte) {
	m.in, m.off = in, 0
	m.clear()
}

// clear drops what was written.
func (m *memory) clear() {
	m.out = append(m.out[:0], 0, 0, 0, 0)
	m.over = 0
}

// written returns what was written, prefix not counted.
func (m *memory) written() []byte { return m.out[prefixLen:] }

func (m *memory) Read(p []byte) (int, error) {
	if m.off == len(m.in) && len(p) > 0 {
		return 0, io.EOF
	}
	n := copy(p, m.in[m.off:])
	m.off += n
	return n, nil
}

func (m *memory) ReadByte() (byte, error) {
	if m.off == len(m.in) {
		return 0, io.EOF
	}
	m.off++
	return m.in[m.off-1], nil
}

func (m *memory) Write(p []byte) (int, error) {
	if err := m.room(len(p)); err != nil {
		return 0, err
	}
	m.out = append(m.out, p...)
	return len(p), nil
}

func (m *memory) WriteByte(b byte) error {
	if err := m.room(1); err != nil {
		return err
	}
	m.out = append(m.out, b)
	return nil
}

func (m *memory) WriteString(s string) (int, error) {
	if err := m.room(len(s)); err != nil {
		return 0, err
	}
	m.out = append(m.out, s...)
	return len(s), nil
}

// room fails a write that the peer could not accept anyway, so that encoding
// stops there and takes no more memory.
func (m *memory) room(n int) error {
	if size := len(m.out) - prefixLen + n; size > m.limit {
		m.over = size
		return &FrameSizeError{Size: int64(size), Limit: m.limit}
	}
	return nil
}

func (m *memory) RemainingBytes() uint64      { return uint64(len(m.in) - m.off) }
func (m *memory) Flush(context.Context) error { return nil }
func (m *memory) Open() error                 { return nil }
func (m *memory) Close() error                { return nil }
func (m *memory) IsOpen() bool                { return true }

// message is a pair of protocols over one memory, used again and again.
type message struct {
	mem  memory
	prot *thrift.TBinaryProtocol
}

// maxKeptOut is how large a write buffer may be to be kept for the next
// message: a little above a blob chunk and a summary of some hundred topologies.
const maxKeptOut = 256 << 10

// newMessage makes a message whose strings, containers and frame are bounded by limit.
func newMessage(limit int) *message {
	m := &message{mem: memory{limit: limit}}
	m.prot = thrift.NewTBinaryProtocolConf(&m.mem, protocolConfig(limit))
	return m
}

// forget lets go of everything that should not live as long as the message.
func (m *message) forget() {
	if cap(m.mem.out) > maxKeptOut {
		m.mem.out = nil
	}
	m.mem.in = nil
}

// protocolConfig says how Storm's servers and clients speak: they write
// versioned messages and accept unversioned ones.
func protocolConfig(limit int) *thrift.TConfiguration {
	return &thrift.TConfiguration{
		MaxMessageSize:     int32(limit), //nolint:gosec // checked in Config
		MaxFrameSize:       int32(limit), //nolint:gosec // checked in Config
		TBinaryStrictRead:  new(false),
		TBinaryStrictWrite: new(true),
	}
}
