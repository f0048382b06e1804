// SPDX-License-Identifier: Apache-2.0

// This file is peers that send anything but what they should.

package faults

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gust-stream/gust/compat-tests/site"
)

// memoryBound is what the whole gust dev may take, in bytes, whatever peers do.
// Each of its listeners holds at most 64 MiB of frames that have not come to their
// end, and ten thousand connections that idle cost about 80 MiB; 160 MiB were
// seen.
const memoryBound = 256 << 20

// idlers is how many connections idle at once on a listener.
const idlers = 10_000

// hostilePeers attacks each listener while a topology runs and clients ask.
func (r *rig) hostilePeers(t *testing.T) {
	raiseFiles(t)
	r.untouched(t, func() {
		watch := r.watch(t)
		for _, port := range []int{r.NimbusPort, r.SupervisorPort(site.Dev), r.ZooKeeperPort} {
			peers := &peers{t: t, port: port}
			peers.randomBytes(200)
			peers.beginnings(200, length(1000), make([]byte, 10))       // half a frame
			peers.beginnings(200, length(1<<31-1), make([]byte, 4<<10)) // 2 GiB
			peers.beginnings(200, length(1<<20-1), make([]byte, 1<<19)) // half of the largest
			peers.slowReaders(20, r.NimbusPort)
			check(t, r.steady.Flow(t.Context(), 20, jvmLimit)) // with all of them open
			peers.close()
			peers.idle(idlers)
			await(t, jvmLimit, "all idle peers to be let in", func(context.Context) (bool, error) {
				fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", r.Daemon(site.Dev).PID()))
				return len(fds) > idlers, err
			})
			check(t, r.steady.Flow(t.Context(), 50, jvmLimit))
			peers.close()
		}
		watch(t)
	})
	check(t, r.Daemon(site.Dev).Ended())
	contains(t, "the log", r.Daemon(site.Dev).Output(), "127.0.0.1:") // who sent what could not be read
}

// length is the begin of a frame of n bytes.
func length(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// raiseFiles allows this process ten thousand connections and more.
func raiseFiles(t *testing.T) {
	t.Helper()
	limit := syscall.Rlimit{Cur: 20_000, Max: 20_000}
	var now syscall.Rlimit
	check(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now))
	if now.Cur >= limit.Cur {
		return
	}
	limit.Max = max(limit.Max, now.Max)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatalf("raise the limit of open files from %d to %d: %v", now.Cur, limit.Cur, err)
	}
}

// watch asks and measures until the function that it gives is called, which fails
// the test if a question was not answered or memory went over its bound.
func (r *rig) watch(t *testing.T) func(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var faults []error
	var slowest time.Duration
	var most int64
	asked := 0
	all.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			began := time.Now()
			if _, err := r.Info(ctx); err != nil && ctx.Err() == nil {
				faults = append(faults, err)
			}
			slowest = max(slowest, time.Since(began))
			asked++
			pss, err := r.Daemon(site.Dev).PSS()
			if err != nil {
				faults = append(faults, err)
			}
			most = max(most, pss)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func(t *testing.T) {
		t.Helper()
		cancel()
		all.Wait()
		if err := errors.Join(faults...); err != nil {
			t.Errorf("%d of %d questions were not answered: %v", len(faults), asked, err)
		}
		t.Logf("%d questions answered, the slowest after %v; at most %d MiB of memory", asked, slowest.Round(time.Millisecond), most>>20)
		if most > memoryBound {
			t.Errorf("gust took %d MiB, more than %d", most>>20, memoryBound>>20)
		}
	}
}

// peers are connections to one listener.
type peers struct {
	t     *testing.T
	port  int
	conns []net.Conn
}

func (p *peers) dial() net.Conn {
	p.t.Helper()
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", p.port), 30*time.Second)
	check(p.t, err)
	p.conns = append(p.conns, conn)
	return conn
}

func (p *peers) close() {
	for _, conn := range p.conns {
		_ = conn.Close() // the other side may have done so already
	}
	p.conns = nil
}

// write sends what the other side takes; it may end the connection at any time.
func write(conn net.Conn, pieces ...[]byte) {
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	for _, piece := range pieces {
		if _, err := conn.Write(piece); err != nil {
			return
		}
	}
}

func (p *peers) randomBytes(n int) {
	random := rand.New(rand.NewPCG(1, uint64(p.port))) //nolint:gosec // the same bytes in every run but for the port
	for range n {
		noise := make([]byte, 1+random.IntN(8<<10))
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		write(p.dial(), noise)
	}
}

// beginnings send the begin of a frame and then nothing.
func (p *peers) beginnings(n int, pieces ...[]byte) {
	for range n {
		write(p.dial(), pieces...)
	}
}

// slowReaders ask and ask and read nothing.
func (p *peers) slowReaders(n, nimbus int) {
	request := bytes.Repeat(thriftCall("getNimbusConf"), 64)
	if p.port != nimbus {
		request = bytes.Repeat(stateRequest(), 64)
	}
	for range n {
		conn := p.dial()
		if p.port != nimbus {
			write(conn, stateHello())
		}
		for range 64 {
			_ = conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
			if _, err := conn.Write(request); err != nil {
				break // it takes no more
			}
		}
	}
}

// idle connect and say nothing. All must be let in, as far as a client can tell.
func (p *peers) idle(n int) {
	for range n {
		p.dial()
	}
}

// stateHello opens a session, stateRequest asks for the children of "/".
func stateHello() []byte {
	body := make([]byte, 4+8+4+8+4+16+1)
	binary.BigEndian.PutUint32(body[12:], 10_000)                                 // session timeout, ms
	binary.BigEndian.PutUint32(body[24:], 16)                                     // length of the password
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...) //nolint:gosec // short
}

func stateRequest() []byte {
	const getChildren = 8
	body := binary.BigEndian.AppendUint32(nil, 1)
	body = binary.BigEndian.AppendUint32(body, getChildren)
	body = binary.BigEndian.AppendUint32(body, 1)
	body = append(body, '/', 0)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...) //nolint:gosec // short
}
