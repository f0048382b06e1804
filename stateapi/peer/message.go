// SPDX-License-Identifier: Apache-2.0

// This file has what peers say to each other: frames of a JSON head and raw bytes.

package peer

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/replica"
)

// version is the protocol's; peers of another do not talk.
const version = 1

const (
	maxHead = 1 << 20
	maxBody = 300 << 20
	// chunk is how many bytes of images go into one frame.
	chunk = 256 << 10
)

// The kinds of requests.
const (
	kindHello   = "hello"   // the first frame: who dials, and which generation of its connections this is
	kindSync    = "sync"    // bring shards in step without keys
	kindAppend  = "append"  // a record; the body has the shards' parts of its batch, one behind the other
	kindInstall = "install" // replace a shard: frames of images, then a last one with the pending part
	kindFetch   = "fetch"   // seal shards and send them: a head with what there is, frames of each shard, a last frame

	// These are in a keeper's journal only.
	kindCompact = "compact" // a base file took the place of another and of some parts behind it
	kindCarry   = "carry"   // a pending part, again, because the journal is cut before it
)

// head is a request's or an answer's first part.
type head struct {
	ID    uint64 `json:"id,omitempty"`
	Kind  string `json:"kind,omitempty"`
	Error string `json:"error,omitempty"`
	Last  bool   `json:"last,omitempty"` // of several frames

	Task   stateapi.Definition `json:"task,omitzero"`
	Record replica.Record      `json:"record,omitzero"` // append
	Items  []item              `json:"items,omitempty"`

	From       replica.Peer `json:"from,omitempty"`       // hello
	Generation int64        `json:"generation,omitempty"` // hello

	Base string `json:"base,omitempty"` // journal: the file that has the images
	Old  string `json:"old,omitempty"`  // compact: the file in whose place it comes
}

// item is about one shard.
type item struct {
	Shard    int              `json:"shard"`
	Epoch    uint64           `json:"epoch,omitempty"`
	Previous uint64           `json:"previous,omitempty"` // append: the record that the shard got before
	Current  uint64           `json:"current,omitempty"`  // sync: the record under way
	Position replica.Position `json:"position,omitzero"`  // sync, install
	Size     int              `json:"size,omitempty"`     // of the shard's part in the body
	What     string           `json:"what,omitempty"`     // fetch: what the body is
	Verdict  replica.Verdict  `json:"verdict,omitempty"`  // in answers
	Copy     replica.Copy     `json:"copy,omitzero"`      // fetch: what the keeper has
	Bytes    int64            `json:"bytes,omitempty"`    // size of a base file
	Parts    int              `json:"parts,omitempty"`    // compact: how many parts it took in
}

// What a frame of a fetched shard is.
const (
	whatImages  = "images"
	whatPart    = "part"
	whatPending = "pending"
)

// writeFrame writes u32 length of the head, u32 length of the body, head, body.
func writeFrame(w io.Writer, h head, body ...[]byte) error {
	encoded, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	size := 0
	for _, b := range body {
		size += len(b)
	}
	if len(encoded) > maxHead || size > maxBody {
		return fmt.Errorf("message of %d and %d bytes: %w", len(encoded), size, stateapi.ErrTooLarge)
	}
	var lengths [8]byte
	binary.LittleEndian.PutUint32(lengths[:], uint32(len(encoded)))
	binary.LittleEndian.PutUint32(lengths[4:], uint32(size))
	for _, b := range append([][]byte{lengths[:], encoded}, body...) {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// readFrame reads one frame. Memory follows what has come, not what is announced.
func readFrame(r io.Reader) (head, []byte, error) {
	var lengths [8]byte
	if _, err := io.ReadFull(r, lengths[:]); err != nil {
		return head{}, nil, err
	}
	headSize, size := binary.LittleEndian.Uint32(lengths[:]), binary.LittleEndian.Uint32(lengths[4:])
	if headSize > maxHead || size > maxBody {
		return head{}, nil, fmt.Errorf("a message of %d and %d bytes is announced: %w", headSize, size, stateapi.ErrTooLarge)
	}
	encoded, err := readExactly(r, int(headSize))
	if err != nil {
		return head{}, nil, err
	}
	var h head
	if err := json.Unmarshal(encoded, &h); err != nil {
		return head{}, nil, fmt.Errorf("head of a message: %w: %w", stateapi.ErrCorrupt, err)
	}
	body, err := readExactly(r, int(size))
	return h, body, err
}

// readExactly takes the memory of small pieces at once, that of large ones as they come.
func readExactly(r io.Reader, n int) ([]byte, error) {
	if n <= maxHead {
		b := make([]byte, n)
		_, err := io.ReadFull(r, b)
		return b, err
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && len(b) < n {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// split cuts a body into its items' parts.
func split(items []item, body []byte) ([][]byte, error) {
	parts := make([][]byte, len(items))
	for i, it := range items {
		if it.Size < 0 || it.Size > len(body) {
			return nil, fmt.Errorf("part of %d bytes of shard %d in a body of %d: %w", it.Size, it.Shard, len(body), stateapi.ErrCorrupt)
		}
		parts[i], body = body[:it.Size:it.Size], body[it.Size:]
	}
	if len(body) > 0 {
		return nil, fmt.Errorf("%d bytes too many: %w", len(body), stateapi.ErrCorrupt)
	}
	return parts, nil
}

// check sees to it that what a peer says of shards cannot reach outside.
func (h head) check() error {
	if h.Task.Shards < 1 || h.Task.Shards > replica.MaxShards || h.Task.Shards&(h.Task.Shards-1) != 0 {
		return fmt.Errorf("a task of %d shards: %w", h.Task.Shards, stateapi.ErrCorrupt)
	}
	seen := map[int]bool{}
	for _, it := range h.Items {
		if it.Shard < 0 || it.Shard >= int(h.Task.Shards) || seen[it.Shard] {
			return fmt.Errorf("shard %d of %d: %w", it.Shard, h.Task.Shards, stateapi.ErrCorrupt)
		}
		seen[it.Shard] = true
	}
	return nil
}
