// SPDX-License-Identifier: Apache-2.0

// This file has the journal's records: what happened to which namespace.

package shard

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gust-stream/gust/stateapi"
)

// Kind says what a change does. The first ones are a client's changes.
type Kind uint8

// The kinds of changes.
const (
	KindPrepare  Kind = iota + 1 // the batch is kept aside under a txid
	KindCommit                   // what is prepared becomes part of the state
	KindRollback                 // what is prepared is dropped
	KindWrite                    // the batch becomes part of the state; what is prepared stays aside
	KindDrop                     // all keys and what is prepared go

	kindOpen   // a session began; the namespace comes into being with the first one
	kindRemove // the namespace is gone
)

// record is the head of a journal record; the batch follows it.
type record struct {
	Kind    Kind
	ID      uint64               // of the namespace
	Def     *stateapi.Definition `json:",omitempty"` // kindOpen
	Session uint64               `json:",omitempty"` // kindOpen
	TxID    int64                `json:",omitempty"`
	Time    time.Time            `json:",omitzero"`  // kindOpen
	Note    []byte               `json:",omitempty"` // of Copies
}

// encode is what the journal gets: u32 length of the head, the head, and the batch as it is.
func (r record) encode(batch []byte) ([][]byte, error) {
	encoded, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode a record: %w", err)
	}
	return [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(len(encoded))), encoded, batch}, nil
}

func decode(body []byte) (r record, batch []byte, err error) {
	if len(body) < 4 {
		return r, nil, fmt.Errorf("record of %d bytes: %w", len(body), stateapi.ErrCorrupt)
	}
	n := uint64(binary.LittleEndian.Uint32(body))
	if n > uint64(len(body)-4) {
		return r, nil, fmt.Errorf("record with a head of %d bytes: %w", n, stateapi.ErrCorrupt)
	}
	if err := json.Unmarshal(body[4:4+n], &r); err != nil {
		return r, nil, fmt.Errorf("head of a record: %w: %w", stateapi.ErrCorrupt, err)
	}
	return r, body[4+n:], nil
}
