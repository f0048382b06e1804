// SPDX-License-Identifier: Apache-2.0

package program

// This file makes a topology's binary a worker.

import (
	"fmt"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/worker"
)

// work is a Go worker with the topology's components linked, as a supervisor starts it.
func work(t *component.Topology, args []string) error {
	ctx, stop := untilTold()
	defer stop()
	if code := worker.Main(ctx, args, worker.Executors(t)); code != 0 {
		return exitError(code)
	}
	return nil
}

// exitError is the exit code of what has said why itself.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
