// SPDX-License-Identifier: Apache-2.0

// This file has another machine as an owner or successor sees it: two connections of one generation.

package peer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gust-stream/gust/stateapi/replica"
)

const (
	// callTimeout is how long a peer may take for a record; then the connections to it are given up.
	callTimeout = 15 * time.Second
	// pieceTimeout is how long it may take until the next piece of a shard comes or goes.
	pieceTimeout = time.Minute
)

// remote is a peer with the connections to it. A failure of any request ends both: requests of the next generation are served after all earlier
// ones have ended, so none can arrive late.
type remote struct {
	peer replica.Peer
	self replica.Peer
	key  []byte
	addr func(context.Context, replica.Peer) (string, error)

	mu      sync.Mutex // guards all below
	control *link      // records
	bulk    *link      // shards
	newest  int64      // generation
}

// links are the connections of the current generation.
func (r *remote) links() (control, bulk *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.control == nil {
		r.newest = max(r.newest+1, time.Now().UnixNano())
		hello := head{Kind: kindHello, From: r.self, Generation: r.newest}
		addr := func(ctx context.Context) (string, error) { return r.addr(ctx, r.peer) }
		r.control = &link{key: r.key, addr: addr, hello: hello}
		r.bulk = &link{key: r.key, addr: addr, hello: hello}
	}
	return r.control, r.bulk
}

// reset ends the generation that l is of; requests under way on its connections fail.
func (r *remote) reset(l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.control != l && r.bulk != l {
		return
	}
	r.control.close()
	r.bulk.close()
	r.control, r.bulk = nil, nil
}

// call sends a record or a sync and waits for its answer.
func (r *remote) call(ctx context.Context, h head, body ...[]byte) (head, error) {
	control, _ := r.links()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := control.call(ctx, h, body...)
	if err != nil && !errors.Is(err, errRefused) {
		r.reset(control)
	}
	return answer, err
}
