// SPDX-License-Identifier: Apache-2.0

// Answers that are encoded once and sent many times: pages of the UI and scripts ask for the same lists again and again.

package nimbus

import (
	"context"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// headRoom is more than the head of a message takes in its frame, in bytes.
const headRoom = 256

// replyAge is how old an encoded answer may be: it holds uptimes in seconds, and nothing else that changes by itself.
const replyAge = time.Second

// reply is an encoded answer and what it was made from.
type reply struct {
	mu sync.Mutex
	// guarded by mu
	data    []byte
	version uint64
	made    time.Time
}

// get returns the answer, made anew if the model changed or it is old.
func (r *reply) get(ctx context.Context, version uint64, now time.Time, build func() thrift.TStruct) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.data != nil && r.version == version && now.Sub(r.made) < replyAge {
		return r.data, true
	}
	data, err := rpc.Encode(ctx, build())
	if err != nil {
		return nil, false // the ordinary way reports it
	}
	r.data, r.version, r.made = data, version, now
	return data, true
}

// encoded are the calls that answer with bytes made before.
func (n *Nimbus) encoded() map[string]rpc.EncodedFunc {
	cached := func(build func() thrift.TStruct) rpc.EncodedFunc {
		r := new(reply)
		return func(ctx context.Context, _ []byte) ([]byte, bool) {
			if n.ready() != nil {
				return nil, false
			}
			// The version is read before the answer is made: a change in between makes the next call build again.
			return r.get(ctx, n.model.currentVersion(), n.now(), build)
		}
	}
	return map[string]rpc.EncodedFunc{
		"getClusterInfo": cached(func() thrift.TStruct {
			return &storm.NimbusGetClusterInfoResult{Success: n.clusterSummary()}
		}),
		"getTopologySummaries": cached(func() thrift.TStruct {
			return &storm.NimbusGetTopologySummariesResult{Success: n.topologySummaries(n.model.all())}
		}),
		"getSupervisorAssignments": n.largeAssignments,
	}
}

// largeAssignments answers a supervisor of gust, which takes larger frames than Storm's peers do. What is too much for the caller is
// left to the ordinary way, which says so.
func (n *Nimbus) largeAssignments(ctx context.Context, encoded []byte) ([]byte, bool) {
	args := storm.NewNimbusGetSupervisorAssignmentsArgs()
	if rpc.Decode(ctx, encoded, args) != nil {
		return nil, false
	}
	info := n.model.supervisorsNow()[args.Node]
	limit := min(cluster.MaxFrame(info, 0), rpc.LargeFrame) - headRoom
	if limit <= 0 {
		return nil, false
	}
	set, err := n.GetSupervisorAssignments(ctx, args.Node)
	if err != nil || set == nil {
		return nil, false
	}
	data, err := rpc.Encode(ctx, &storm.NimbusGetSupervisorAssignmentsResult{Success: set})
	return data, err == nil && len(data) <= limit
}
