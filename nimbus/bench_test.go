// SPDX-License-Identifier: Apache-2.0

package nimbus_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/nimbustest"
)

// BenchmarkSubmit submits topologies in a row from one client, with one supervisor that has room for few of them.
func BenchmarkSubmit(b *testing.B) {
	site := nimbustest.Start(b, nimbustest.Options{Quiet: true})
	site.Supervisor(b, "sup-1", 6700, 6701, 6702, 6703)
	c := site.Client(b)
	location := nimbustest.Upload(b, c)
	topology := nimbustest.WordCount(1, 1, 1)
	n := 0
	for b.Loop() {
		n++
		if err := c.SubmitTopology(b.Context(), fmt.Sprintf("wc%d", n), location, "{}", topology); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "submits/s")
}

// BenchmarkGetClusterInfo asks for the cluster with 101 topologies from 8 clients.
func BenchmarkGetClusterInfo(b *testing.B) {
	site := nimbustest.Start(b, nimbustest.Options{Quiet: true})
	site.Supervisor(b, "sup-1", 6700, 6701, 6702, 6703)
	c := site.Client(b)
	location := nimbustest.Upload(b, c)
	for i := range 101 {
		err := c.SubmitTopology(b.Context(), fmt.Sprintf("wc%d", i), location, "{}", nimbustest.WordCount(1, 1, 1))
		if err != nil {
			b.Fatal(err)
		}
	}
	var failed atomic.Int64
	b.SetParallelism(4) // times two cores
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c := site.Client(b)
		for pb.Next() {
			if _, err := c.GetClusterInfo(b.Context()); err != nil {
				failed.Add(1)
			}
		}
	})
	if failed.Load() > 0 {
		b.Fatalf("%d calls failed", failed.Load())
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkSubmitToPush measures the time from a submit to the arrival of the assignment at the supervisor.
func BenchmarkSubmitToPush(b *testing.B) {
	site := nimbustest.Start(b, nimbustest.Options{Quiet: true})
	ports := make([]int64, 4096)
	for i := range ports {
		ports[i] = int64(10000 + i)
	}
	sup := site.Supervisor(b, "sup-1", ports...)
	c := site.Client(b)
	n := 0
	for b.Loop() {
		n++
		id := nimbustest.Submit(b, c, fmt.Sprintf("wc%d", n), config.Conf{}, nimbustest.WordCount(1, 1, 1))
		nimbustest.Until(b, "pushed", func() bool { return sup.Executors(id) > 0 })
	}
}
