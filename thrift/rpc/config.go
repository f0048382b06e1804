// SPDX-License-Identifier: Apache-2.0

// The settings of a Server and of a Client, and what stands in for those left out.

package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gust-stream/gust/internal/openfiles"
)

// Defaults for settings that are left at zero. They are those of Storm's
// nimbus, apart from the bounds that Storm does not have.
const (
	// DefaultMaxFrame is Storm's nimbus.thrift.max_buffer_size in bytes.
	DefaultMaxFrame = 1 << 20
	// LargeFrame is the largest frame that gust's own daemons take of each
	// other where Storm's bound is too low, in bytes.
	LargeFrame = 16 << 20
	// DefaultWorkers is Storm's nimbus.thrift.threads.
	DefaultWorkers = 64
	// DefaultQueueLen is Storm's nimbus.queue.size.
	DefaultQueueLen = 100_000
	// DefaultMaxConns leaves room for ten thousand idle peers below the usual
	// limit of open files.
	DefaultMaxConns = 16_384
	// DefaultReadIdleTimeout is Storm's nimbus.thrift.client.socket timeout:
	// no stock client keeps an unused connection for longer.
	DefaultReadIdleTimeout = 10 * time.Minute
	// DefaultFrameTimeout bounds the time between a frame's first byte and its last.
	DefaultFrameTimeout = 30 * time.Second
	// DefaultWriteTimeout bounds the time a peer may take to accept a reply.
	DefaultWriteTimeout = 30 * time.Second
	// DefaultShutdownGrace bounds the time running calls get when a server stops.
	DefaultShutdownGrace = 5 * time.Second
	// DefaultConnectTimeout bounds a client's connect and TLS handshake together.
	DefaultConnectTimeout = 10 * time.Second
	// DefaultCallTimeout bounds a client's call where its context has no earlier deadline.
	DefaultCallTimeout = 10 * time.Minute
)

// Config says where a Server listens and how much a peer may ask of it. Zero
// fields take the defaults above.
type Config struct {
	// Addr is host:port; port 0 lets the system choose.
	Addr string
	// MaxFrame bounds a frame in bytes, its length prefix not counted, in both directions.
	MaxFrame int
	// FrameKey is the conf key that MaxFrame comes from, for those who are
	// told that a reply is above it; "" is none.
	FrameKey string
	// MaxRequest and MaxEncoded, where they are more, bound the frames of
	// peers and the answers of Encoded handlers in its place.
	MaxRequest, MaxEncoded int
	// Workers is how many calls run at once.
	Workers int
	// MaxConns is how many connections are open at once. At the bound a new
	// peer takes the place of the one that has been idle longest, or is
	// turned away when none is idle.
	MaxConns int
	// Files, where set, bounds connections together with what else this
	// process has open, in the same way as MaxConns.
	Files *openfiles.Share
	// QueueLen is how many calls may wait for one of the Workers; further
	// calls are answered with an exception at once.
	QueueLen int
	// MaxBuffered bounds, in bytes and over all connections together, the
	// larger frames that are being received or handled and the replies that
	// wait for their reader. Zero means 64 times MaxFrame, and it is never
	// less than two frames.
	MaxBuffered int64
	// ReadIdleTimeout is how long a connection may stay without a call.
	ReadIdleTimeout time.Duration
	// FrameTimeout is how long a frame may take from its first byte to its last.
	FrameTimeout time.Duration
	// WriteTimeout is how long a peer may take to accept a reply.
	WriteTimeout time.Duration
	// ShutdownGrace is how long running calls may go on after Run is told to
	// stop. As long again they get to notice that their context has ended.
	ShutdownGrace time.Duration
	// TLS, where set, is spoken on every connection.
	TLS *tls.Config
	// Encoded holds, by method name, handlers that may answer without
	// decoding and encoding. See EncodedFunc.
	Encoded map[string]EncodedFunc
}

// EncodedFunc answers a call with bytes made earlier. The argument is the
// encoded argument struct; it is only valid during the call and must not be
// changed. The answer is the encoded result struct of the method, as Encode
// makes it from the generated XxxResult; it must not be changed afterwards,
// since it may still be on its way to a peer. False hands the call to the
// ordinary processor. It runs in one of the Workers, and its context is that
// of an ordinary call. An answer may be as large as Config.MaxEncoded; whether
// the peer takes more than MaxFrame is for the handler to know.
type EncodedFunc func(ctx context.Context, args []byte) (result []byte, ok bool)

// withDefaults fills what was left out.
func (c Config) withDefaults() Config {
	c.MaxFrame = orDefault(c.MaxFrame, DefaultMaxFrame)
	c.MaxRequest, c.MaxEncoded = max(c.MaxRequest, c.MaxFrame), max(c.MaxEncoded, c.MaxFrame)
	c.Workers = orDefault(c.Workers, DefaultWorkers)
	c.MaxConns = orDefault(c.MaxConns, DefaultMaxConns)
	c.QueueLen = orDefault(c.QueueLen, DefaultQueueLen)
	c.MaxBuffered = max(orDefault(c.MaxBuffered, 64*int64(c.MaxFrame)), 2*int64(c.MaxRequest))
	c.ReadIdleTimeout = orDefault(c.ReadIdleTimeout, DefaultReadIdleTimeout)
	c.FrameTimeout = orDefault(c.FrameTimeout, DefaultFrameTimeout)
	c.WriteTimeout = orDefault(c.WriteTimeout, DefaultWriteTimeout)
	c.ShutdownGrace = orDefault(c.ShutdownGrace, DefaultShutdownGrace)
	return c
}

// check reports every setting that cannot work, all of them in one error.
func (c Config) check() error {
	var faults []error
	for _, size := range []int{c.MaxFrame, c.MaxRequest, c.MaxEncoded} {
		if size < 0 || size > math.MaxInt32-4 {
			faults = append(faults, fmt.Errorf("largest frame: %d bytes is outside 1..%d", size, math.MaxInt32-4))
			break
		}
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"workers", int64(c.Workers)},
		{"connections", int64(c.MaxConns)},
		{"queue length", int64(c.QueueLen)},
		{"read idle timeout", int64(c.ReadIdleTimeout)},
		{"frame timeout", int64(c.FrameTimeout)},
		{"write timeout", int64(c.WriteTimeout)},
		{"shutdown grace", int64(c.ShutdownGrace)},
	} {
		if f.value < 0 {
			faults = append(faults, fmt.Errorf("%s: %d is negative", f.name, f.value))
		}
	}
	return errors.Join(faults...)
}

// ClientConfig bounds what a Client waits for and accepts. Zero fields take
// the defaults above.
type ClientConfig struct {
	// ConnectTimeout bounds connecting, the TLS handshake included.
	ConnectTimeout time.Duration
	// CallTimeout bounds each call; an earlier deadline of the call's context counts.
	CallTimeout time.Duration
	// MaxFrame bounds a frame in bytes, its length prefix not counted, in both directions.
	MaxFrame int
	// TLS, where set, is spoken on the connection. Its ServerName defaults to the dialled host.
	TLS *tls.Config
}

func (c ClientConfig) withDefaults() ClientConfig {
	c.ConnectTimeout = orDefault(c.ConnectTimeout, DefaultConnectTimeout)
	c.CallTimeout = orDefault(c.CallTimeout, DefaultCallTimeout)
	c.MaxFrame = orDefault(c.MaxFrame, DefaultMaxFrame)
	return c
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
