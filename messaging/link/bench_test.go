// SPDX-License-Identifier: Apache-2.0

package link_test

// This file measures a link over the loopback: how many tuples a second, and how long one takes there and back.

import (
	"slices"
	"testing"
	"time"

	"github.com/gust-stream/gust/messaging/link"
	"github.com/gust-stream/gust/tuple"
)

func benchBoth(b *testing.B, bench func(b *testing.B, stormOnly bool)) {
	b.Helper()
	b.Run("Native", func(b *testing.B) { bench(b, false) })
	b.Run("Storm", func(b *testing.B) { bench(b, true) })
}

// BenchmarkLink sends batches of 100 tuples with a word and an anchor, and heeds back-pressure.
func BenchmarkLink(b *testing.B) {
	benchBoth(b, func(b *testing.B, stormOnly bool) {
		b.Helper()
		const size = 100
		came := make(chan int, 1000)
		_, address, _ := serve(b, link.ServerConfig{StormOnly: stormOnly, Deliver: func(batch []tuple.Message) { came <- len(batch) }})
		room := make(chan struct{}, 1)
		c, _ := dial(b, link.ClientConfig{Address: address, Notify: func() {
			select {
			case room <- struct{}{}:
			default:
			}
		}})
		for !c.Ready() {
			<-room
		}
		batch := words(0, size)
		b.ResetTimer()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := 0; n < b.N*size; {
				n += <-came
			}
		}()
		for range b.N {
			for c.Blocked(2) || c.Blocked(3) {
				<-room
			}
			c.Send(batch)
		}
		<-done
		b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "tuples/s")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/tuple")
	})
}

// BenchmarkRoundTrip sends one tuple over a link and has it come back over another, a thousand times a second.
func BenchmarkRoundTrip(b *testing.B) {
	benchBoth(b, func(b *testing.B, stormOnly bool) {
		b.Helper()
		back := make(chan struct{}, 1)
		_, home, _ := serve(b, link.ServerConfig{StormOnly: stormOnly, Deliver: func([]tuple.Message) { back <- struct{}{} }})
		reply, _ := dial(b, link.ClientConfig{Address: home})
		_, away, _ := serve(b, link.ServerConfig{StormOnly: stormOnly, Deliver: reply.Send})
		c, _ := dial(b, link.ClientConfig{Address: away})
		batch := words(0, 1)
		c.Send(batch)
		<-back
		var took []time.Duration
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		b.ResetTimer()
		for range b.N {
			<-ticker.C
			start := time.Now()
			c.Send(batch)
			<-back
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
	})
}
