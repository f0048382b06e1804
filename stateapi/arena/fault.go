// SPDX-License-Identifier: Apache-2.0

// This file makes errors of faults in mapped memory.

package arena

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/gust-stream/gust/stateapi"
)

// Catch ends a function that touches an arena: `defer arena.Catch(debug.SetPanicOnFault(true), &err)`. A page that cannot be had, since the file was
// shortened or memory is full, and bytes that lead out of bounds become an error.
func Catch(before bool, err *error) {
	debug.SetPanicOnFault(before)
	caught := recover()
	if caught == nil {
		return
	}
	fault, ok := caught.(runtime.Error)
	if !ok {
		panic(caught)
	}
	*err = fmt.Errorf("touch arena: %w: %w", fault, stateapi.ErrCorrupt)
}
