// SPDX-License-Identifier: Apache-2.0

package executor

// This file ties the kinds of executors to the engine.

import (
	"context"
)

func (a *trees) live(context.Context) error { return a.run() }

func (a *trees) end() {}

func (a *trees) waiting() int { return 0 }

func (s *spout) live(context.Context) error { return s.runLinked() }

func (s *spout) waiting() int { return s.pending.Len() + len(s.instant) }

// end closes the spouts. What waits for its tree is forgotten: a new spout does not know it, and late answers are ignored.
func (s *spout) end() {
	s.close()
	s.forget()
}

func (b *bolt) live(context.Context) error { return b.runLinked() }

func (b *bolt) waiting() int { return 0 }

// end closes the bolts and fails what they had.
func (b *bolt) end() {
	if b.engine.phase() != closing {
		b.abandon()
	}
	b.close()
}
