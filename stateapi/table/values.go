// SPDX-License-Identifier: Apache-2.0

// This file makes values shorter and plain again.

package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/flate"

	"github.com/gust-stream/gust/stateapi"
)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// deflateWorth is the part of a value that must be gained: what is less is not worth the time that every reader takes.
const deflateWorth = 8

// deflate is a value's length and deflated bytes, or nil if that gains too little.
func deflate(value []byte) []byte {
	out := bytes.NewBuffer(make([]byte, 0, len(value)))
	out.Write(binary.AppendUvarint(nil, uint64(len(value))))
	if err := flate.StatelessDeflate(out, value, true, nil); err != nil || out.Len() > len(value)-len(value)/deflateWorth {
		return nil
	}
	return out.Bytes()
}

// inflater makes deflated values plain again, one at a time.
type inflater struct {
	in  bytes.Reader
	out io.ReadCloser
}

func newInflater() *inflater {
	i := &inflater{}
	i.out = flate.NewReader(&i.in)
	return i
}

// append appends a value to dst.
func (i *inflater) append(dst, deflated []byte) ([]byte, error) {
	length, n := binary.Uvarint(deflated)
	if n <= 0 || length > MaxValue {
		return dst, fmt.Errorf("deflated value has length %d: %w", length, stateapi.ErrCorrupt)
	}
	i.in.Reset(deflated[n:])
	reset, ok := i.out.(flate.Resetter)
	if !ok {
		return dst, fmt.Errorf("inflate value: %w", stateapi.ErrCorrupt)
	}
	if err := reset.Reset(&i.in, nil); err != nil {
		return dst, fmt.Errorf("inflate value: %w", err)
	}
	start := len(dst)
	dst = slices.Grow(dst, int(length))[:start+int(length)]
	if _, err := io.ReadFull(i.out, dst[start:]); err != nil {
		return dst[:start], fmt.Errorf("inflate value: %w: %w", err, stateapi.ErrCorrupt)
	}
	var more [1]byte
	if n, err := i.out.Read(more[:]); n != 0 || err != io.EOF {
		return dst[:start], fmt.Errorf("inflate value: longer than the %d bytes it should be: %w", length, stateapi.ErrCorrupt)
	}
	return dst, nil
}
