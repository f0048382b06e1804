// SPDX-License-Identifier: Apache-2.0

// Asking the workers of a silent supervisor whether they live. A worker whose supervisor died beats at Nimbus itself, but only after
// it has tried its supervisor for ten seconds and more: longer than the detection timeout. Its port answers at once.

package nimbus

import (
	"context"
	"net"
	"strconv"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/thrift/storm"
)

// probers is how many ports are asked at once.
const probers = 64

// worker is one worker by its place, and what it runs.
type worker struct {
	topology  string
	addr      string
	executors []storm.ExecutorID
}

// suspect has the prober ask the workers of these supervisors, unless it is asking already.
func (n *Nimbus) suspect(nodes map[string]bool) {
	if len(nodes) == 0 {
		return
	}
	select {
	case n.suspects <- nodes:
	default:
	}
}

// probe asks the workers of suspects until ctx ends.
func (n *Nimbus) probe(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case nodes := <-n.suspects:
			n.ask(ctx, nodes)
		}
	}
}

// ask connects to the ports of all workers of the suspects and notes those that answer. It ends well before their time is over.
func (n *Nimbus) ask(ctx context.Context, suspects map[string]bool) {
	limit := probeAhead(n.cfg.Detection) * 3 / 4
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(probers)
	for _, w := range workersOn(n.model.all(), suspects) {
		group.Go(func() error {
			conn, err := (&net.Dialer{Timeout: limit}).DialContext(ctx, "tcp", w.addr)
			if err != nil {
				return nil //nolint:nilerr // no answer is the answer
			}
			_ = conn.Close() // nothing was said
			n.live.answered(w.topology, w.executors, n.now())
			n.log.Debug("worker of a silent supervisor lives", zap.String("topology_id", w.topology), zap.String("address", w.addr))
			return nil
		})
	}
	_ = group.Wait() // no goroutine of it returns an error
}

// workersOn lists the workers that assignments put on the given supervisors.
func workersOn(topologies []*topologyState, nodes map[string]bool) []worker {
	var out []worker
	for _, t := range topologies {
		if t.assignment == nil {
			continue
		}
		for slot, executors := range group(slotMap(t.assignment)) {
			if host := t.assignment.NodeHost[slot.node]; nodes[slot.node] && host != "" {
				out = append(out, worker{topology: t.id, addr: net.JoinHostPort(host, strconv.FormatInt(slot.port, 10)), executors: executors})
			}
		}
	}
	return out
}
