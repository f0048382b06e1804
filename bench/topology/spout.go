// SPDX-License-Identifier: Apache-2.0

// This file emits at a rate.

package main

import (
	"time"

	"github.com/gust-stream/gust/multilang/component"
)

// behind is how far a spout may fall behind its rate before what it missed is let go.
const behind = 100 * time.Millisecond

// rateSpout is RateSpout.
type rateSpout struct {
	tally    *tally
	began    time.Time
	sentence any
	acked    bool
	gap      time.Duration // 0: flat out, below 0: silent
	due      time.Duration // since began
	next     int64
}

func (s *rateSpout) Open(ctx *component.Context, _ *component.SpoutOutput) (err error) {
	if rate, _ := ctx.Conf["bench.rate"].(int64); rate > 0 {
		s.gap = time.Second / time.Duration(rate)
	} else {
		s.gap = time.Duration(rate)
	}
	s.acked = ctx.Conf["bench.acked"] != false
	s.sentence = ctx.Conf["bench.sentence"]
	s.began = time.Now()
	s.tally, err = newTally(ctx, s.gap > 0)
	return err
}

func (s *rateSpout) Next(out *component.SpoutOutput) error {
	if s.gap < 0 {
		return nil
	}
	var id any
	if s.gap > 0 {
		now := time.Since(s.began)
		if now < s.due {
			return nil
		}
		s.due = max(s.due+s.gap, now-behind)
		id = int64(now) // so that an ack tells how long it took
	} else {
		id = s.next
		s.next++
	}
	value := s.sentence
	if value == nil {
		value = id
	}
	if s.acked {
		return out.Emit(id, value)
	}
	return out.Emit(nil, value)
}

func (s *rateSpout) Ack(id any) {
	if s.gap > 0 {
		sent, _ := id.(int64)
		s.tally.took(time.Since(s.began) - time.Duration(sent))
	}
	s.tally.one()
}

func (s *rateSpout) Fail(any) { s.tally.failed() }
