// SPDX-License-Identifier: Apache-2.0

package grouping

// This file holds Java's random numbers, which the choice of a partial key's two tasks is made of.

// random gives the sequence of a java.util.Random.
type random uint64

const (
	multiplier = 0x5DEECE66D
	mask       = 1<<48 - 1
)

func newRandom(seed int64) random { return random((uint64(seed) ^ multiplier) & mask) }

// next gives 31 bits.
func (r *random) next() int32 {
	*r = (*r*multiplier + 0xB) & mask
	return int32(*r >> 17)
}

// below gives a number from 0 to n-1.
func (r *random) below(n int32) int32 {
	bits := r.next()
	if n&(n-1) == 0 {
		return int32(int64(n) * int64(bits) >> 31)
	}
	value := bits % n
	for bits-value+(n-1) < 0 { // overflow: the topmost part is not a whole n
		bits = r.next()
		value = bits % n
	}
	return value
}

// shuffle puts numbers in a random order, as Java's Collections.shuffle does.
func (r *random) shuffle(a []int32) {
	for i := len(a); i > 1; i-- {
		j := r.below(int32(i))
		a[i-1], a[j] = a[j], a[i-1]
	}
}
