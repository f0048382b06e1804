// SPDX-License-Identifier: Apache-2.0

// This file holds what operators change while a topology runs: credentials, log levels, profiling requests.

package cluster

import (
	"context"

	"github.com/gust-stream/gust/thrift/storm"
)

// Credentials returns the credentials of a topology, or nil.
func (s *State) Credentials(ctx context.Context, topologyID string) (*storm.Credentials, error) {
	return read(ctx, s, credentialsDir, topologyID, storm.NewCredentials())
}

// SetCredentials writes the credentials of a topology whole.
func (s *State) SetCredentials(ctx context.Context, topologyID string, credentials *storm.Credentials) error {
	return s.put(ctx, credentialsDir, topologyID, credentials)
}

// CredentialTopologies returns the ids of topologies that have credentials, dead ones included.
func (s *State) CredentialTopologies(ctx context.Context) ([]string, error) {
	return s.sorted(ctx, credentialsDir)
}

// RemoveCredentials removes the credentials of a topology.
func (s *State) RemoveCredentials(ctx context.Context, topologyID string) error {
	return s.drop(ctx, credentialsDir, topologyID)
}

// LogConfig returns the log levels of a topology, or nil.
func (s *State) LogConfig(ctx context.Context, topologyID string) (*storm.LogConfig, error) {
	return read(ctx, s, logConfigsDir, topologyID, storm.NewLogConfig())
}

// SetLogConfig writes the log levels of a topology; its workers watch them.
func (s *State) SetLogConfig(ctx context.Context, topologyID string, levels *storm.LogConfig) error {
	return s.put(ctx, logConfigsDir, topologyID, levels)
}

// LogConfigTopologies returns the ids of topologies that have log levels, dead ones included.
func (s *State) LogConfigTopologies(ctx context.Context) ([]string, error) {
	return s.sorted(ctx, logConfigsDir)
}

// RemoveLogConfig removes the log levels of a topology.
func (s *State) RemoveLogConfig(ctx context.Context, topologyID string) error {
	return s.drop(ctx, logConfigsDir, topologyID)
}

// ProfileRequests returns the profiling requests of a topology that no supervisor has dealt with.
func (s *State) ProfileRequests(ctx context.Context, topologyID string) ([]*storm.ProfileRequest, error) {
	dir, err := child(profilerDir, topologyID)
	if err != nil {
		return nil, err
	}
	return readAll(ctx, s, dir, storm.NewProfileRequest)
}

// SetProfileRequest asks the supervisor of a worker (named by host and port) for a profiling action.
func (s *State) SetProfileRequest(ctx context.Context, topologyID string, request *storm.ProfileRequest) error {
	node, err := requestPath(topologyID, request)
	if err != nil {
		return err
	}
	data, err := Encode(ctx, request)
	if err != nil {
		return err
	}
	return s.set(ctx, node, data)
}

// RemoveProfileRequest removes a profiling request that is done or dropped.
func (s *State) RemoveProfileRequest(ctx context.Context, topologyID string, request *storm.ProfileRequest) error {
	node, err := requestPath(topologyID, request)
	if err != nil {
		return err
	}
	return s.remove(ctx, node)
}

// ProfileTopologies returns the ids of topologies that have a place for profiling requests, dead ones included.
func (s *State) ProfileTopologies(ctx context.Context) ([]string, error) {
	return s.sorted(ctx, profilerDir)
}

// RemoveProfileRequests removes all profiling requests of a topology.
func (s *State) RemoveProfileRequests(ctx context.Context, topologyID string) error {
	return s.drop(ctx, profilerDir, topologyID)
}

func requestPath(topologyID string, request *storm.ProfileRequest) (string, error) {
	var host string
	var port int64
	if request.NodeInfo != nil {
		host = request.NodeInfo.Node
		if len(request.NodeInfo.Port) > 0 {
			port = request.NodeInfo.Port[0]
		}
	}
	return profilePath(topologyID, host, port, request.Action)
}
