// SPDX-License-Identifier: Apache-2.0

package transfer

// This file holds what a worker's links to other workers have to offer.

import "github.com/gust-stream/gust/tuple"

// Remote takes what goes to the tasks of other workers. All methods may be called by any goroutine and do not block.
type Remote interface {
	// Send takes a row of tuples for any tasks of other workers, keeping the order of each caller's. The slice is only lent, the tuples are Remote's.
	Send(batch []tuple.Message)
	// Blocked says whether a task wants no more. It is asked often.
	Blocked(task int32) bool
	// Load is how full a task's inbox was when its worker last told, from 0 to 1; false if it never did.
	Load(task int32) (float64, bool)
}
