// SPDX-License-Identifier: Apache-2.0

// Encoding of what the server itself puts around or in place of a handler's answer.

package rpc

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/thrift/lib/go/thrift"
)

// Encode returns the bytes of a struct as they stand in a message, for
// EncodedFunc. For a method's answer hand in the generated result struct, for
// example &storm.NimbusGetClusterInfoResult{Success: summary}.
func Encode(ctx context.Context, s thrift.TStruct) ([]byte, error) {
	m := newMessage(math.MaxInt32)
	m.mem.reset(nil)
	if err := s.Write(ctx, m.prot); err != nil {
		return nil, fmt.Errorf("encode %T: %w", s, err)
	}
	return m.mem.written(), nil
}

// Decode reads a struct from the bytes that an EncodedFunc is given.
func Decode(ctx context.Context, data []byte, s thrift.TStruct) error {
	m := newMessage(len(data))
	m.mem.reset(data)
	if err := s.Read(ctx, m.prot); err != nil {
		return fmt.Errorf("decode %T: %w", s, err)
	}
	return nil
}

// appendHeader appends the head of a versioned message.
func appendHeader(b []byte, kind thrift.TMessageType, method string, seq int32) []byte {
	b = binary.BigEndian.AppendUint32(b, thrift.VERSION_1|uint32(kind)) //nolint:gosec // kinds are small
	b = binary.BigEndian.AppendUint32(b, uint32(len(method)))           //nolint:gosec // bounded by maxName
	b = append(b, method...)
	return binary.BigEndian.AppendUint32(b, uint32(seq)) //nolint:gosec // the bits count
}

// appendException appends an exception message: TApplicationException is a
// struct of the text (field 1) and the type (field 2).
func appendException(b []byte, method string, seq, kind int32, text string) []byte {
	b = appendHeader(b, thrift.EXCEPTION, method, seq)
	b = append(b, thrift.STRING, 0, 1)
	b = binary.BigEndian.AppendUint32(b, uint32(len(text))) //nolint:gosec // short by construction
	b = append(b, text...)
	b = append(b, thrift.I32, 0, 2)
	b = binary.BigEndian.AppendUint32(b, uint32(kind)) //nolint:gosec // the bits count
	return append(b, thrift.STOP)
}

// seal writes the length of what follows into the prefix.
func seal(framed []byte, extra int) {
	binary.BigEndian.PutUint32(framed, uint32(len(framed)-prefixLen+extra)) //nolint:gosec // bounded by the frame limit
}
