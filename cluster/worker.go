// SPDX-License-Identifier: Apache-2.0

// This file holds what only workers write, and what they watch.

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/thrift/storm"
)

// errorPrefix begins the name of a kept error; the cluster state appends a number.
const errorPrefix = "e"

// SetWorkerBeat writes the statistics of the worker on a slot.
func (s *State) SetWorkerBeat(ctx context.Context, topologyID, node string, port int64, beat *storm.ClusterWorkerHeartbeat) error {
	dir, err := child(workerBeatsDir, topologyID)
	if err != nil {
		return err
	}
	return s.put(ctx, dir, fmt.Sprintf("%s-%d", node, port), beat)
}

// RemoveWorkerBeat removes the statistics of the worker on a slot.
func (s *State) RemoveWorkerBeat(ctx context.Context, topologyID, node string, port int64) error {
	dir, err := child(workerBeatsDir, topologyID)
	if err != nil {
		return err
	}
	return s.drop(ctx, dir, fmt.Sprintf("%s-%d", node, port))
}

// AddError adds an error that a component reported and makes it the last one; only the newest keep are kept. As with Storm's
// workers, the added one vanishes with this session, and the last one stays.
func (s *State) AddError(ctx context.Context, topologyID, component string, info *storm.ErrorInfo, keep int) error {
	dir, err := errorsPath(topologyID, component)
	if err != nil {
		return err
	}
	data, err := Encode(ctx, info)
	if err != nil {
		return err
	}
	if err := s.create(ctx, dir+"/"+errorPrefix, data, zk.FlagEphemeral|zk.FlagSequence); err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	if err := s.set(ctx, dir+lastErrorSuffix, data); err != nil {
		return err
	}
	names, err := s.sorted(ctx, dir)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, errorPrefix) })
	for _, name := range names[:max(0, len(names)-keep)] {
		if err := s.remove(ctx, dir+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

// WatchStorm calls changed with the state of a topology, nil if it is gone, at once and after each change, until ctx ends; it returns
// then. A session that breaks is watched again.
func (s *State) WatchStorm(ctx context.Context, topologyID string, changed func(*storm.StormBase)) error {
	return watch(ctx, s, stormsDir, topologyID, storm.NewStormBase, changed)
}

// WatchLogConfig is WatchStorm for the log levels of a topology.
func (s *State) WatchLogConfig(ctx context.Context, topologyID string, changed func(*storm.LogConfig)) error {
	return watch(ctx, s, logConfigsDir, topologyID, storm.NewLogConfig, changed)
}

// WatchCredentials is WatchStorm for the credentials of a topology.
func (s *State) WatchCredentials(ctx context.Context, topologyID string, changed func(*storm.Credentials)) error {
	return watch(ctx, s, credentialsDir, topologyID, storm.NewCredentials, changed)
}

// watch passes the decoded content of a child of dir on. What cannot be read is logged and passed over.
func watch[T any, P structOf[T]](ctx context.Context, s *State, dir, name string, fresh func() P, changed func(P)) error {
	node, err := child(dir, name)
	if err != nil {
		return err
	}
	return s.watchData(ctx, node, func(data []byte) {
		if data == nil {
			changed(nil)
			return
		}
		value := fresh()
		if err := Decode(ctx, data, value); err != nil {
			s.log.Warn("node is not readable", zap.String("znode", node), zap.Error(err))
			return
		}
		changed(value)
	})
}
