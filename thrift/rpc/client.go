// SPDX-License-Identifier: Apache-2.0

// The client: one connection, one call at a time.

package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

// ErrBusy is the answer to a call that was made while another one ran.
var ErrBusy = errors.New("another call is running on this connection")

// ErrBroken is the answer to every call after one that left the connection in
// the middle of a message: by a timeout, a cancelled context, or a bad reply.
var ErrBroken = errors.New("connection was broken by an earlier call")

// Client is a connection to a Thrift server, for generated clients:
//
//	nimbus := storm.NewNimbusClient(client)
//
// It is for sequential use: a call while another runs gets ErrBusy. Close may
// be called at any time. It never connects again; after an error that is not
// a declared exception or a TApplicationException, dial another.
type Client struct {
	cfg    ClientConfig
	peer   string
	nc     net.Conn
	frames frameReader
	msg    *message
	seq    int32
	broken bool
	busy   atomic.Bool
}

var _ thrift.TClient = (*Client)(nil)

// Dial connects to host:port. It returns when the connection stands, with TLS
// after the handshake, or with an error that names the address.
func Dial(ctx context.Context, addr string, cfg ClientConfig) (*Client, error) {
	cfg = cfg.withDefaults()
	if cfg.MaxFrame < 0 {
		return nil, fmt.Errorf("connect to %s: largest frame of %d bytes", addr, cfg.MaxFrame)
	}
	nc, err := dial(ctx, addr, cfg)
	if _, told := errors.AsType[*net.OpError](err); told {
		return nil, err // it says where to
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return &Client{
		cfg:    cfg,
		peer:   addr,
		nc:     nc,
		frames: frameReader{r: nc, limit: cfg.MaxFrame, pool: newBufferPool(cfg.MaxFrame)},
		msg:    newMessage(cfg.MaxFrame),
	}, nil
}

func dial(ctx context.Context, addr string, cfg ClientConfig) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
	defer cancel()
	if cfg.TLS == nil {
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{Config: cfg.TLS}).DialContext(ctx, "tcp", addr)
}

// Peer returns the address that was dialled.
func (c *Client) Peer() string { return c.peer }

// Close ends the connection; a running call returns with an error.
func (c *Client) Close() error {
	if err := c.nc.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close connection to %s: %w", c.peer, err)
	}
	return nil
}

// Call sends a call and waits for its answer, which it decodes into result; a
// nil result makes it a oneway call. Every error names the method and the
// peer. A TApplicationException of the server, a *FrameSizeError for a request
// or reply above the bound, and the context's error can be found in it.
func (c *Client) Call(ctx context.Context, method string, args, result thrift.TStruct) (thrift.ResponseMeta, error) {
	if err := c.call(ctx, method, args, result); err != nil {
		return thrift.ResponseMeta{}, fmt.Errorf("call %s of %s: %w", method, c.peer, err)
	}
	return thrift.ResponseMeta{}, nil
}

func (c *Client) call(ctx context.Context, method string, args, result thrift.TStruct) error {
	if !c.busy.CompareAndSwap(false, true) {
		return ErrBusy
	}
	defer c.busy.Store(false)
	if c.broken {
		return ErrBroken
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	defer c.msg.forget()
	if err := c.encode(ctx, method, args, result == nil); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	fr, err := c.exchange(ctx, result == nil)
	if err != nil {
		c.broken = true
		return err
	}
	if result == nil {
		return nil
	}
	defer fr.release()
	return c.decode(ctx, fr.data, method, result)
}

// encode leaves the framed call in c.msg.
func (c *Client) encode(ctx context.Context, method string, args thrift.TStruct, oneway bool) error {
	c.seq++
	c.msg.mem.reset(nil)
	kind := thrift.CALL
	if oneway {
		kind = thrift.ONEWAY
	}
	c.msg.mem.out = appendHeader(c.msg.mem.out, kind, method, c.seq)
	if err := args.Write(ctx, c.msg.prot); err != nil {
		if c.msg.mem.over > 0 { // generated code wraps the cause beyond recognition
			return &FrameSizeError{Size: int64(c.msg.mem.over), Limit: c.cfg.MaxFrame}
		}
		return err
	}
	seal(c.msg.mem.out, 0)
	return nil
}

// exchange writes the call and reads the frame of its answer. It ends at the
// nearest of the context's end, its deadline, and the call timeout.
func (c *Client) exchange(ctx context.Context, oneway bool) (frame, error) {
	until := time.Now().Add(c.cfg.CallTimeout)
	if t, ok := ctx.Deadline(); ok && t.Before(until) {
		until = t
	}
	if err := c.nc.SetDeadline(until); err != nil {
		return frame{}, fmt.Errorf("set deadline: %w", err)
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = c.nc.SetDeadline(time.Unix(1, 0)) // a closed connection has ended as well
	})
	fr, err := c.transfer(ctx, until, oneway)
	if !stop() {
		<-interrupted // or it could still strike at the next call
	}
	if err == nil {
		return fr, nil
	}
	if ctx.Err() != nil {
		return frame{}, fmt.Errorf("%w (%w)", ctx.Err(), err)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return frame{}, fmt.Errorf("no answer in time: %w (%w)", context.DeadlineExceeded, err)
	}
	return frame{}, err
}

func (c *Client) transfer(ctx context.Context, until time.Time, oneway bool) (frame, error) {
	if _, err := c.nc.Write(c.msg.mem.out); err != nil {
		return frame{}, fmt.Errorf("send: %w", err)
	}
	if oneway {
		return frame{}, nil
	}
	fr, err := c.frames.read(ctx, until)
	if err != nil {
		return frame{}, fmt.Errorf("receive: %w", err)
	}
	return fr, nil
}

// decode reads an answer. What is wrong with its head breaks the connection:
// nobody knows what the next frame would be an answer to.
func (c *Client) decode(ctx context.Context, data []byte, method string, result thrift.TStruct) error {
	c.msg.mem.reset(data)
	name, kind, seq, err := c.msg.prot.ReadMessageBegin(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("read message head: %w", err)
	case name != method:
		err = fmt.Errorf("answer is to %.64q: %w", name, thrift.NewTApplicationException(thrift.WRONG_METHOD_NAME, "wrong method name"))
	case seq != c.seq:
		err = fmt.Errorf("answer is to call %d, not %d: %w", seq, c.seq, thrift.NewTApplicationException(thrift.BAD_SEQUENCE_ID, "out of order"))
	case kind != thrift.REPLY && kind != thrift.EXCEPTION:
		err = fmt.Errorf("answer is of kind %d: %w", kind, thrift.NewTApplicationException(thrift.INVALID_MESSAGE_TYPE_EXCEPTION, "invalid message type"))
	}
	if err != nil {
		c.broken = true
		return err
	}
	if kind == thrift.EXCEPTION {
		ex := thrift.NewTApplicationException(thrift.UNKNOWN_APPLICATION_EXCEPTION, "")
		if err := ex.Read(ctx, c.msg.prot); err != nil {
			return fmt.Errorf("read exception: %w", err)
		}
		return ex
	}
	if err := result.Read(ctx, c.msg.prot); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}
