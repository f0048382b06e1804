// SPDX-License-Identifier: Apache-2.0

// The history of killed topologies, in a LocalState folder as Storm's.

package nimbus

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

// historyKey is the key of the one record in the folder.
const historyKey = "topo-hist"

// history holds the topologies that were killed, the oldest first.
type history struct {
	store *localstate.Store

	mu sync.Mutex
	// guarded by mu
	entries []*storm.LSTopoHistory
}

func newHistory(dir string, log *zap.Logger) *history {
	return &history{store: localstate.New(dir, time.Now, log)}
}

// load reads the newest whole version, if there is one. A folder in which none can be read is set aside, so that a new history
// can be begun; the error says so.
func (h *history) load() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list storm.LSTopoHistoryList
	_, err := h.store.Get(historyKey, &list)
	if _, corrupt := errors.AsType[*localstate.CorruptError](err); corrupt {
		aside, moved := h.store.SetAside()
		return errors.Join(fmt.Errorf("read history, set aside as %s: %w", aside, err), moved)
	}
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	h.entries = list.TopoHistory
	return nil
}

// add appends a topology.
func (h *history) add(entry *storm.LSTopoHistory) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, entry)
	return h.write()
}

// expire drops what is older than keep.
func (h *history) expire(keep time.Duration, now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.entries)
	cut := now.Add(-keep).Unix()
	h.entries = slices.DeleteFunc(h.entries, func(e *storm.LSTopoHistory) bool { return e.TimeStamp <= cut })
	if len(h.entries) == before {
		return nil
	}
	return h.write()
}

// ids returns the ids of the topologies in it.
func (h *history) ids() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]string, len(h.entries))
	for i, e := range h.entries {
		out[i] = e.TopologyID
	}
	return out
}

// write stores the entries. The caller holds mu.
func (h *history) write() error {
	if err := os.MkdirAll(h.store.Dir(), 0o700); err != nil { // it names users: nobody else's business
		return fmt.Errorf("write history: %w", err)
	}
	err := h.store.Update(func(r *localstate.Records) error {
		return r.Put(historyKey, &storm.LSTopoHistoryList{TopoHistory: h.entries})
	})
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}
