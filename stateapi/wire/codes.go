// SPDX-License-Identifier: Apache-2.0

// This file turns errors into codes and back.

package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gust-stream/gust/stateapi"
)

// The codes of errors.
const (
	CodeFenced uint16 = 1 + iota
	CodeUnknownPrepare
	CodeEncoder
	CodeTasks
	CodeNoRoom
	CodeNotReady
	CodeDenied
	CodeTooLarge
	CodeMalformed
	CodeVersion
	CodeInternal
)

// maxMessage bounds an error's text.
const maxMessage = 2048

// ErrVersion is a peer that speaks another version.
var ErrVersion = errors.New("other version of the state protocol")

// kind is what a code stands for; nil: CodeInternal and what is unknown.
func kind(code uint16) error {
	switch code {
	case CodeFenced:
		return stateapi.ErrFenced
	case CodeUnknownPrepare:
		return stateapi.ErrUnknownPrepare
	case CodeEncoder:
		return stateapi.ErrEncoder
	case CodeTasks:
		return stateapi.ErrTasks
	case CodeNoRoom:
		return stateapi.ErrNoRoom
	case CodeNotReady:
		return stateapi.ErrNotReady
	case CodeDenied:
		return stateapi.ErrDenied
	case CodeTooLarge:
		return stateapi.ErrTooLarge
	case CodeMalformed:
		return ErrMalformed
	case CodeVersion:
		return ErrVersion
	}
	return nil
}

// Code is the code of an error.
func Code(err error) uint16 {
	for code := CodeFenced; code < CodeInternal; code++ {
		if errors.Is(err, kind(code)) {
			return code
		}
	}
	return CodeInternal
}

// AppendError appends the body of an Error frame.
func AppendError(b *Builder, err error) {
	text := strings.ToValidUTF8(err.Error(), "?")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "..."
	}
	b.U16(Code(err))
	b.String(text)
}

// ReadError reads the body of an Error frame: the error that it tells.
func ReadError(f *Fields) error {
	code, text := f.U16(), f.String()
	if f.Err() != nil {
		return f.Err()
	}
	known := kind(code)
	switch {
	case known == nil:
		return fmt.Errorf("state server: %s", text)
	case strings.Contains(text, known.Error()):
		return &refusal{text, known}
	}
	return fmt.Errorf("%s: %w", text, known)
}

// refusal has a text that names its kind already.
type refusal struct {
	text string
	kind error
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.kind }
