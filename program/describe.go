// SPDX-License-Identifier: Apache-2.0

package program

// This file tells whoever submits a topology what it is.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/gust-stream/gust/multilang/component"
)

// Description is what --describe prints, as one line of JSON.
type Description struct {
	Name string         `json:"name"`
	Conf map[string]any `json:"conf"`
	// Topology is the StormTopology in Thrift's binary protocol.
	Topology []byte `json:"topology"`
	// Files go into the JAR below resources/, beside the binary, which is named there as the conf's gust.topology.go.binary says.
	Files map[string]string `json:"files"`
}

// Describe describes a topology. The error says all that is wrong with it.
func Describe(t *component.Topology) (Description, error) {
	code, err := t.Storm()
	if err != nil {
		return Description{}, err
	}
	buffer := thrift.NewTMemoryBuffer()
	if err := code.Write(context.Background(), thrift.NewTBinaryProtocolConf(buffer, nil)); err != nil {
		return Description{}, fmt.Errorf("encode topology %q: %w", t.Name(), err)
	}
	return Description{Name: t.Name(), Conf: t.Conf(), Topology: buffer.Bytes(), Files: t.Files()}, nil
}

func describe(t *component.Topology, out io.Writer) error {
	d, err := Describe(t)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(d)
}
