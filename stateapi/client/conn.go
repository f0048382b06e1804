// SPDX-License-Identifier: Apache-2.0

package client

// This file is one connection to the server: requests, answers, and what a broken one is.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"time"

	"github.com/gust-stream/gust/stateapi"
)

// The requests of the protocol.
const (
	askHello = 1 + iota
	askOpen
	askPrepare
	askCommit
	askWrite
	askRollback
	askGet
	askIterate
)

const (
	magic       = 0x54535547
	version     = 1
	answerOf    = 128
	answerError = 255
	frameHead   = 9 // length, type, request number
	maxFrame    = 256 << 20
	// keepBuffer is the largest buffer that stays.
	keepBuffer = 1 << 20
)

// errProtocol is an answer that makes no sense.
var errProtocol = errors.New("the state server's answer is malformed")

// conn is a connection. Errors of it that away tells make it useless.
type conn struct {
	net     net.Conn
	request uint32
	out, in []byte
}

// opened is the answer to an open.
type opened struct {
	Session                                uint64
	Arena                                  string
	ArenaID, Descriptor, Namespace, Commit uint64
	Prepared                               bool
	TxID                                   int64
	Batch                                  []byte
}

// pair is an entry of an iteration.
type pair struct{ Key, Value []byte }

func dial(socket string, deadline time.Time) (*conn, error) {
	d := net.Dialer{Deadline: deadline}
	n, err := d.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	c := &conn{net: n}
	if err := c.hello(deadline); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return c, nil
}

func (c *conn) hello(deadline time.Time) error {
	if err := c.limit(deadline); err != nil {
		return err
	}
	c.begin(askHello)
	c.u32(magic)
	c.out = binary.LittleEndian.AppendUint16(c.out, version)
	answer, err := c.ask()
	if err != nil {
		return err
	}
	if v := answer.u16(); answer.err == nil && v != version {
		return fmt.Errorf("the state server speaks version %d, this client %d: %w", v, version, errProtocol)
	}
	return answer.err
}

func (c *conn) limit(deadline time.Time) error { return c.net.SetDeadline(deadline) }

func (c *conn) close() error {
	if err := c.net.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// begin begins a request, and ask sends it.
func (c *conn) begin(kind byte) {
	c.request++
	c.out = append(c.out[:0], 0, 0, 0, 0, kind)
	c.u32(c.request)
}

func (c *conn) u32(n uint32)   { c.out = binary.LittleEndian.AppendUint32(c.out, n) }
func (c *conn) u64(n uint64)   { c.out = binary.LittleEndian.AppendUint64(c.out, n) }
func (c *conn) bytes(b []byte) { c.out = append(binary.AppendUvarint(c.out, uint64(len(b))), b...) }
func (c *conn) text(s string)  { c.out = append(binary.AppendUvarint(c.out, uint64(len(s))), s...) }

// ask sends the request and reads its answer, valid until the next one.
func (c *conn) ask() (*fields, error) {
	defer c.shrink()
	if len(c.out)-4 > maxFrame {
		return nil, fmt.Errorf("request of %d bytes: %w", len(c.out), stateapi.ErrTooLarge)
	}
	binary.LittleEndian.PutUint32(c.out, uint32(len(c.out)-4))
	kind := c.out[4]
	if _, err := c.net.Write(c.out); err != nil {
		return nil, err
	}
	var head [frameHead]byte
	if _, err := io.ReadFull(c.net, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n < frameHead-4 || n > maxFrame {
		return nil, fmt.Errorf("%w: %d bytes long", errProtocol, n)
	}
	c.in = slices.Grow(c.in[:0], int(n)-(frameHead-4))[:int(n)-(frameHead-4)]
	if _, err := io.ReadFull(c.net, c.in); err != nil {
		return nil, err
	}
	answer := &fields{rest: c.in}
	switch request := binary.LittleEndian.Uint32(head[5:]); {
	case request != c.request:
		return nil, fmt.Errorf("%w: for request %d, not %d", errProtocol, request, c.request)
	case head[4] == answerError:
		code, message := answer.u16(), answer.text()
		if answer.err != nil {
			return nil, answer.err
		}
		return nil, refusal(code, message)
	case head[4] != answerOf+kind:
		return nil, fmt.Errorf("%w: type %d to request type %d", errProtocol, head[4], kind)
	}
	return answer, nil
}

// shrink lets go of what an unusually large message took; the answer keeps its own.
func (c *conn) shrink() {
	if cap(c.out) > keepBuffer {
		c.out = nil
	}
	if cap(c.in) > keepBuffer {
		c.in = nil
	}
}

// refusal is the error of a server's answer.
func refusal(code uint16, message string) error {
	kinds := map[uint16]error{
		1: stateapi.ErrFenced, 2: stateapi.ErrUnknownPrepare, 3: stateapi.ErrEncoder, 4: stateapi.ErrTasks, 5: stateapi.ErrNoRoom,
		6: stateapi.ErrNotReady, 7: stateapi.ErrDenied, 8: stateapi.ErrTooLarge, 9: errProtocol, 10: errProtocol,
	}
	if err := kinds[code]; err != nil {
		return fmt.Errorf("%w: %s", err, message)
	}
	return errors.New(message)
}

// away says whether an error is one of a server that is on its way back.
func away(err error) bool {
	var network net.Error
	return !errors.Is(err, fs.ErrPermission) && (errors.Is(err, stateapi.ErrNotReady) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &network))
}

func (c *conn) open(d *stateapi.Definition, resume uint64) (opened, error) {
	c.begin(askOpen)
	c.text(d.Topology)
	c.text(d.Owner)
	c.text(d.Component)
	c.u32(uint32(d.Task))
	c.u32(uint32(d.Tasks))
	c.u32(uint32(d.Shards))
	c.text(d.Encoder)
	c.u64(resume)
	a, err := c.ask()
	if err != nil {
		return opened{}, err
	}
	o := opened{Session: a.u64(), Arena: a.text(), ArenaID: a.u64(), Descriptor: a.u64(), Namespace: a.u64(), Commit: a.u64()}
	if o.Prepared = a.u8() != 0; o.Prepared {
		o.TxID = int64(a.u64())
		o.Batch = slices.Clone(a.bytes())
	}
	return o, a.err
}

// fields reads the fields of an answer; err is the first fault.
type fields struct {
	rest []byte
	err  error
}

func (f *fields) take(n uint64) []byte {
	if f.err == nil && n > uint64(len(f.rest)) {
		f.err = fmt.Errorf("%w: it ends too early", errProtocol)
	}
	if f.err != nil {
		return nil
	}
	out := f.rest[:n:n]
	f.rest = f.rest[n:]
	return out
}

func (f *fields) number(n uint64) uint64 {
	var whole [8]byte
	copy(whole[:], f.take(n))
	return binary.LittleEndian.Uint64(whole[:])
}

func (f *fields) u8() uint8   { return uint8(f.number(1)) }
func (f *fields) u16() uint16 { return uint16(f.number(2)) }
func (f *fields) u32() uint32 { return uint32(f.number(4)) }
func (f *fields) u64() uint64 { return f.number(8) }

func (f *fields) bytes() []byte {
	n, size := binary.Uvarint(f.rest)
	if size <= 0 {
		f.take(uint64(len(f.rest)) + 1)
		return nil
	}
	f.take(uint64(size))
	return f.take(n)
}

func (f *fields) text() string { return string(f.bytes()) }
