// SPDX-License-Identifier: Apache-2.0

// What a call costs: small ones, a cluster summary made anew, and one made before.

package rpc

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/gust-stream/gust/thrift/storm"
)

// summary is about what getClusterInfo answers for so many topologies.
func summary(topologies int) *storm.ClusterSummary {
	s := &storm.ClusterSummary{}
	for i := range topologies {
		name := fmt.Sprintf("topology-%d", i)
		version, owner := "2.8.3", "storm"
		s.Topologies = append(s.Topologies, &storm.TopologySummary{
			ID: name + "-1-1700000000", Name: name, NumTasks: 30, NumExecutors: 28, NumWorkers: 3, UptimeSecs: 5000,
			Status: "ACTIVE", StormVersion: &version, Owner: &owner,
		})
	}
	for i := range 3 {
		s.Supervisors = append(s.Supervisors, &storm.SupervisorSummary{
			Host: fmt.Sprintf("host-%d", i), SupervisorID: "6d5bd7e5-6a3b-4a55-9ad2-7d4d9f3f6f0d", NumWorkers: 4, UptimeSecs: 5000,
		})
	}
	return s
}

// manyClients makes calls from a number of connections at once.
func manyClients(b *testing.B, s *running, clients int, call func(*storm.NimbusClient) error) {
	b.Helper()
	todo := make(chan struct{}, 1024)
	var wg sync.WaitGroup
	for range clients {
		_, nimbus := dialTest(b, s.addr, ClientConfig{})
		wg.Go(func() {
			for range todo {
				if err := call(nimbus); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		todo <- struct{}{}
	}
	close(todo)
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

func BenchmarkCall(b *testing.B) {
	s := start(b, Config{}, echo())
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("Clients%d", clients), func(b *testing.B) {
			manyClients(b, s, clients, func(n *storm.NimbusClient) error {
				_, err := n.GetTopologyConf(b.Context(), "topology-1-1700000000")
				return err
			})
		})
	}
}

// BenchmarkClusterInfo includes decoding by the clients, which is most of it.
func BenchmarkClusterInfo(b *testing.B) {
	info := summary(101)
	handler := echo()
	handler.clusterInfo = func(context.Context) (*storm.ClusterSummary, error) { return info, nil }
	encoded, err := Encode(b.Context(), &storm.NimbusGetClusterInfoResult{Success: info})
	if err != nil {
		b.Fatal(err)
	}
	for name, cfg := range map[string]Config{
		"Processor": {},
		"Encoded": {Encoded: map[string]EncodedFunc{
			"getClusterInfo": func(context.Context, []byte) ([]byte, bool) { return encoded, true },
		}},
	} {
		s := start(b, cfg, handler)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(encoded)))
			manyClients(b, s, 8, func(n *storm.NimbusClient) error {
				_, err := n.GetClusterInfo(b.Context())
				return err
			})
		})
	}
}

func BenchmarkConnectCallClose(b *testing.B) {
	s := start(b, Config{}, echo())
	b.ReportAllocs()
	for b.Loop() {
		c, err := Dial(b.Context(), s.addr, ClientConfig{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := storm.NewNimbusClient(c).GetTopologyConf(b.Context(), "x"); err != nil {
			b.Fatal(err)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
