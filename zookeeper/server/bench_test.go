// SPDX-License-Identifier: Apache-2.0

// What a write costs, alone and in company.

package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
)

// benchServer runs a server for one benchmark.
func benchServer(b *testing.B) *zk.Conn {
	b.Helper()
	s, err := New(Config{Addr: "127.0.0.1:0", Dir: b.TempDir()}, zap.NewNop())
	if err != nil {
		b.Fatal(err)
	}
	addr, err := s.Listen()
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	c, _, err := zk.Connect([]string{addr.String()}, 20*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		c.Close()
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return c
}

// BenchmarkCreate is one client that waits for each answer: one fsync each.
func BenchmarkCreate(b *testing.B) {
	c := benchServer(b)
	data := make([]byte, 1000)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := c.Create(fmt.Sprintf("/n%d", n), data, 0, open); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

// BenchmarkCreateTogether is 64 callers at once, who share fsyncs.
func BenchmarkCreateTogether(b *testing.B) {
	c := benchServer(b)
	data := make([]byte, 1000)
	var n atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Create(fmt.Sprintf("/n%d", n.Add(1)), data, 0, open); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkGet reads without writes in between.
func BenchmarkGet(b *testing.B) {
	c := benchServer(b)
	if _, err := c.Create("/a", make([]byte, 1000), 0, open); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := c.Get("/a"); err != nil {
			b.Fatal(err)
		}
	}
}
