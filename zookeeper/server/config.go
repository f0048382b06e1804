// SPDX-License-Identifier: Apache-2.0

// What a Server is told, with defaults and checks.

package server

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gust-stream/gust/internal/openfiles"
)

// Config says where a Server listens, where it keeps its files, and its limits.
// Zero values mean the default.
type Config struct {
	// Addr is host:port to listen on; port 0 picks a free one. Required.
	Addr string
	// Dir holds the log and snapshots, and belongs to one server at a time. Required.
	Dir string
	// TickTime is ZooKeeper's unit of session time. Default 2 s.
	TickTime time.Duration
	// MinSessionTimeout and MaxSessionTimeout bound what clients may ask for.
	// Defaults: 2 and 20 ticks.
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// MaxFrame is the largest request in bytes, Java's jute.maxbuffer. Default 0xfffff.
	MaxFrame int
	// MaxConns bounds open connections. Past it the oldest one that has not said who
	// it is makes room, else the new one is closed. Default 20000.
	MaxConns int
	// Files, where set, bounds connections together with what else this process has
	// open, in the same way as MaxConns.
	Files *openfiles.Share
	// HandshakeTimeout is how long a connection may stay silent before its session
	// starts. Default 10 s.
	HandshakeTimeout time.Duration
	// SnapshotBytes is how much log is written between two snapshots. Default 16 MiB.
	SnapshotBytes int64
	// ContainerCheck is how often empty container znodes are deleted. Default 60 s.
	ContainerCheck time.Duration
	// SuperDigest is user:hash of a digest identity that every ACL lets through,
	// zookeeper.DigestAuthenticationProvider.superDigest. Default: nobody.
	SuperDigest string
}

const (
	defaultTick     = 2 * time.Second
	defaultMaxFrame = 0xfffff
	defaultMaxConns = 20000
	defaultSnapshot = 16 << 20

	maxFrameLimit = 64 << 20
)

// withDefaults fills in what is zero.
func (c Config) withDefaults() Config {
	set(&c.TickTime, defaultTick)
	set(&c.MinSessionTimeout, 2*c.TickTime)
	set(&c.MaxSessionTimeout, 20*c.TickTime)
	set(&c.MaxFrame, defaultMaxFrame)
	set(&c.MaxConns, defaultMaxConns)
	set(&c.HandshakeTimeout, 10*time.Second)
	set(&c.SnapshotBytes, defaultSnapshot)
	set(&c.ContainerCheck, time.Minute)
	return c
}

func set[T time.Duration | int | int64](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}

// Validate names all faults at once.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("zookeeper server: "+format, args...))
		}
	}
	check(c.Addr != "", "no address to listen on")
	check(c.Dir != "", "no directory for log and snapshots")
	check(c.TickTime >= time.Millisecond, "tick time %v is below 1ms", c.TickTime)
	check(c.MinSessionTimeout > 0 && c.MinSessionTimeout <= c.MaxSessionTimeout,
		"session timeouts %v to %v are not a range", c.MinSessionTimeout, c.MaxSessionTimeout)
	check(c.MaxFrame >= 1024 && c.MaxFrame <= maxFrameLimit, "largest frame %d is not within 1024 and %d", c.MaxFrame, maxFrameLimit)
	check(c.MaxConns > 0, "connection limit %d is not positive", c.MaxConns)
	check(c.HandshakeTimeout > 0, "handshake timeout %v is not positive", c.HandshakeTimeout)
	check(c.SnapshotBytes > 0, "snapshot interval %d bytes is not positive", c.SnapshotBytes)
	check(c.ContainerCheck > 0, "container check interval %v is not positive", c.ContainerCheck)
	check(c.SuperDigest == "" || strings.Contains(c.SuperDigest, ":"), "super digest is not user:hash")
	return errors.Join(errs...)
}
