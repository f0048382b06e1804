// SPDX-License-Identifier: Apache-2.0

// This file has the hash of keys and the place that it gives a key.

package segment

import (
	"encoding/binary"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// Hash is a key's hash: XXH64 with seed 0.
func Hash(key []byte) uint64 {
	if len(key) == 8 {
		return hash8(binary.LittleEndian.Uint64(key))
	}
	return xxhash.Sum64(key)
}

// The numbers of XXH64.
const (
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
	prime3 = 0x165667B19E3779F9
	prime4 = 0x85EBCA77C2B2AE63
	prime5 = 0x27D4EB2F165667C5
)

// hash8 is XXH64 of the 8 bytes of a little-endian number. It is small enough to go into loops, where several run at once.
func hash8(key uint64) uint64 {
	h := uint64(prime5+8) ^ bits.RotateLeft64(key*prime2, 31)*prime1
	h = bits.RotateLeft64(h, 27)*prime1 + prime4
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

// Place is where the search for a key begins, of n blocks or index words.
func Place(hash uint64, depth uint8, n uint32) uint32 {
	return uint32((hash << depth >> 32) * uint64(n) >> 32)
}
