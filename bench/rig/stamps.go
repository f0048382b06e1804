// SPDX-License-Identifier: Apache-2.0

// This file waits for what the spout of the bench topology writes down.

package rig

import (
	"context"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
)

// Stamp is what one incarnation of the bench spout saw.
type Stamp struct {
	File string
	PID  int // of the worker
	// Opened is when its open was called; First when its first tuple was
	// acked, zero before that; Acked how many were by Last.
	Opened, First, Last time.Time
	Acked               int64
}

// Stamps reads the incarnations that the topology has had, in no order.
func (c *Cluster) Stamps(topology string) ([]Stamp, error) {
	ledgers, err := c.Ledgers(topology, "")
	var stamps []Stamp
	for _, l := range ledgers {
		stamps = append(stamps, l.stamp())
	}
	return stamps, err
}

func (l Ledger) stamp() Stamp {
	s := Stamp{File: l.File, PID: l.PID, Opened: l.Opened}
	if n := len(l.Marks); n > 0 {
		s.First, s.Last, s.Acked = l.Marks[0].At, l.Marks[n-1].At, l.Marks[n-1].Count
	}
	return s
}

// AwaitAck waits for a first ack by an incarnation that opened after since,
// and returns its stamp.
func (c *Cluster) AwaitAck(ctx context.Context, topology string, since time.Time) (Stamp, error) {
	var found Stamp
	err := testbed.Await(ctx, "an acked tuple of "+topology, 25*time.Millisecond, func() (bool, error) {
		stamps, err := c.Stamps(topology)
		if err != nil {
			return false, err
		}
		for _, s := range stamps {
			if s.Opened.After(since) && !s.First.IsZero() {
				found = s
				return true, nil
			}
		}
		return false, nil
	})
	return found, err
}
