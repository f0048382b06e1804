// SPDX-License-Identifier: Apache-2.0

// This file acks and counts.

package main

import "github.com/gust-stream/gust/multilang/component"

// tallyBolt is TallyBolt.
type tallyBolt struct{ tally *tally }

func (b *tallyBolt) Prepare(ctx *component.Context, _ *component.Output) (err error) {
	b.tally, err = newTally(ctx, false)
	return err
}

func (b *tallyBolt) Execute(t *component.Tuple, out *component.Output) error {
	out.Ack(t)
	b.tally.one()
	return nil
}
