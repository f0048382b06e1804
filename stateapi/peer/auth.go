// SPDX-License-Identifier: Apache-2.0

// This file lets two peers prove to each other that they know the site's key, before anything else is read.

package peer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	magic     = "GUSTPEER"
	nonceSize = 32
	helloSize = len(magic) + 4 + nonceSize
)

var errKey = errors.New("the peer does not know this site's key")

// greet runs the handshake on either side: both send a nonce, both answer the other's with a code over both, marked with who speaks.
func greet(rw io.ReadWriter, key []byte, dialed bool) error {
	mine := make([]byte, 0, helloSize)
	mine = append(mine, magic...)
	mine = binary.LittleEndian.AppendUint32(mine, version)
	nonce := make([]byte, nonceSize)
	_, _ = rand.Read(nonce) // never fails
	mine = append(mine, nonce...)
	if _, err := rw.Write(mine); err != nil {
		return fmt.Errorf("greet: %w", err)
	}
	theirs := make([]byte, helloSize)
	if _, err := io.ReadFull(rw, theirs); err != nil {
		return fmt.Errorf("greet: %w", err)
	}
	if string(theirs[:len(magic)]) != magic {
		return errors.New("greet: not a peer")
	}
	if v := binary.LittleEndian.Uint32(theirs[len(magic):]); v != version {
		return fmt.Errorf("greet: the peer speaks version %d, this is %d", v, version)
	}
	dialer, listener := mine, theirs
	if !dialed {
		dialer, listener = theirs, mine
	}
	code := func(who byte) []byte {
		h := hmac.New(sha256.New, key)
		h.Write(slices.Concat([]byte{who}, dialer, listener))
		return h.Sum(nil)
	}
	own, other := code('d'), code('l')
	if !dialed {
		own, other = other, own
	}
	if _, err := rw.Write(own); err != nil {
		return fmt.Errorf("greet: %w", err)
	}
	got := make([]byte, sha256.Size)
	if _, err := io.ReadFull(rw, got); err != nil {
		return fmt.Errorf("greet: %w", err)
	}
	if !hmac.Equal(got, other) {
		return errKey
	}
	return nil
}
