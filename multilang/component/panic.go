// SPDX-License-Identifier: Apache-2.0

package component

// This file makes errors of panics.

import (
	"bytes"
	"fmt"
)

// stackLines is how many lines of a stack go into an error: enough for the place in the component and its callers.
const stackLines = 16

// PanicError is a panic of a component.
type PanicError struct {
	// Value is what the component panicked with.
	Value any
	// Stack are the first lines of the stack, from the place of the panic.
	Stack string
}

// Error is the panic's text and stack.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }

// Unwrap gives the error that the component panicked with, if it was one.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Panicked makes an error of what recover gave, with the stack as debug.Stack gives it in the deferred function.
func Panicked(value any, stack []byte) *PanicError {
	lines := bytes.Split(bytes.TrimSpace(stack), []byte("\n"))
	// Everything up to the call of panic is the runtime's and the recovering function's.
	for i, line := range lines {
		if bytes.HasPrefix(line, []byte("panic(")) && i+2 <= len(lines) {
			lines = lines[i+2:]
			break
		}
	}
	if len(lines) > stackLines {
		lines = lines[:stackLines]
	}
	return &PanicError{Value: value, Stack: string(bytes.Join(lines, []byte("\n")))}
}
