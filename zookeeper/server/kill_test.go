// SPDX-License-Identifier: Apache-2.0

// kill -9 of a server that is busy.

package server

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// TestKillNine kills a server again and again while clients write. Whatever was
// acknowledged is there in the end, and sessions live through it.
func TestKillNine(t *testing.T) {
	t.Parallel()
	p := spawn(t, "", t.TempDir())
	const writers, kills = 4, 5
	var acked [writers][]string
	var total atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	sessions := make([]int64, writers)
	clients := make([]*zk.Conn, writers)
	for w := range writers {
		clients[w], _ = connect(t, p.addr, 40*time.Second)
		sessions[w] = clients[w].SessionID()
		if _, err := clients[w].Create(fmt.Sprintf("/alive%d", w), nil, zk.FlagEphemeral, open); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				path := fmt.Sprintf("/w%d-%d", w, i)
				if _, err := clients[w].Create(path, []byte(path), 0, open); err == nil {
					acked[w] = append(acked[w], path)
					total.Add(1)
				}
			}
		})
	}
	for range kills {
		before := total.Load()
		eventually(t, "writes are acknowledged", func() bool { return total.Load() > before+50 })
		p.kill()
		p = spawn(t, p.addr, p.dir)
	}
	before := total.Load()
	eventually(t, "writes are acknowledged", func() bool { return total.Load() > before+50 })
	stop.Store(true)
	wg.Wait()
	p.kill()
	p = spawn(t, p.addr, p.dir)
	c, _ := connect(t, p.addr, 40*time.Second)
	names, _, err := c.Children("/")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, n := range names {
		there["/"+n] = true
	}
	for w := range writers {
		for _, path := range acked[w] {
			if !there[path] {
				t.Errorf("%s was acknowledged and is gone", path)
			}
		}
		if !there[fmt.Sprintf("/alive%d", w)] || clients[w].SessionID() != sessions[w] {
			t.Errorf("session of writer %d did not live", w)
		}
	}
}
