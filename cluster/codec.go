// SPDX-License-Identifier: Apache-2.0

// This file encodes payloads as Storm's workers do: gzip over the Thrift binary protocol.

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/klauspost/compress/gzip"

	"github.com/gust-stream/gust/config"
)

// maxPayload bounds a decoded payload in bytes, so that a small node cannot expand without end.
const maxPayload = 64 << 20

// Pack compresses the content of a znode or a blob.
func Pack(plain []byte) ([]byte, error) {
	var packed bytes.Buffer
	zipper, err := gzip.NewWriterLevel(&packed, gzip.StatelessCompression) // the others clear a table of 1 MiB for each payload
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	_, err = zipper.Write(plain)
	if err := errors.Join(err, zipper.Close()); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return packed.Bytes(), nil
}

// Unpack undoes Pack. Bytes that are not gzip, are cut short or expand beyond 64 MiB are an error.
func Unpack(packed []byte) ([]byte, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(zipped, maxPayload+1))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	if len(plain) > maxPayload {
		return nil, fmt.Errorf("unpack: more than %d bytes", maxPayload)
	}
	return plain, nil
}

// DecodeConf reads the conf of a topology from the bytes of its blob.
func DecodeConf(data []byte) (config.Conf, error) {
	text, err := Unpack(data)
	if err != nil {
		return nil, fmt.Errorf("decode conf: %w", err)
	}
	conf, err := config.ParseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("decode conf: %w", err)
	}
	return conf, nil
}

// Encode returns a struct as the bytes that a znode or a blob holds: gzip over Thrift binary.
func Encode(ctx context.Context, value thrift.TStruct) ([]byte, error) {
	plain := thrift.NewTMemoryBuffer()
	if err := value.Write(ctx, thrift.NewTBinaryProtocolConf(plain, nil)); err != nil {
		return nil, fmt.Errorf("encode %T: %w", value, err)
	}
	packed, err := Pack(plain.Bytes())
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", value, err)
	}
	return packed, nil
}

// Decode fills a struct from the bytes of a znode or a blob. Bytes that Unpack refuses or that hold another struct are an error.
func Decode(ctx context.Context, data []byte, value thrift.TStruct) error {
	plain, err := Unpack(data)
	if err != nil {
		return fmt.Errorf("decode %T: %w", value, err)
	}
	buffer := &thrift.TMemoryBuffer{Buffer: bytes.NewBuffer(plain)}
	config := &thrift.TConfiguration{MaxMessageSize: maxPayload}
	if err := value.Read(ctx, thrift.NewTBinaryProtocolConf(buffer, config)); err != nil {
		return fmt.Errorf("decode %T: %w", value, err)
	}
	return nil
}
