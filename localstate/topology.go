// SPDX-License-Identifier: Apache-2.0

package localstate

// This file reads what Nimbus stored of a topology and a supervisor laid into its folder.

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/thrift/storm"
)

// ReadConf reads the conf in a topology's folder.
func ReadConf(dir string) (config.Conf, error) {
	path := filepath.Join(dir, TopologyConf)
	packed, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	conf, err := cluster.DecodeConf(packed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return conf, nil
}

// ReadCode reads the topology in a topology's folder, as its submitter made it.
func ReadCode(ctx context.Context, dir string) (*storm.StormTopology, error) {
	path := filepath.Join(dir, TopologyCode)
	packed, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	code := storm.NewStormTopology()
	if err := cluster.Decode(ctx, packed, code); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return code, nil
}
