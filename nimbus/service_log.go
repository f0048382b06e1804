// SPDX-License-Identifier: Apache-2.0

// Log levels and profiling: what is asked of running workers.

package nimbus

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gust-stream/gust/thrift/storm"
)

// SetLogConfig changes the log levels of a topology's workers: entries of the call are set or removed, older ones stay.
func (n *Nimbus) SetLogConfig(ctx context.Context, id string, change *storm.LogConfig) error {
	t, err := n.existing(id)
	if err != nil {
		return err
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	old, err := n.cluster.LogConfig(ctx, t.id)
	if err != nil {
		return err
	}
	if old == nil {
		old = storm.NewLogConfig()
	}
	next, err := mergeLogConfig(old, change, n.now())
	if err != nil {
		return err
	}
	return n.cluster.SetLogConfig(ctx, t.id, next)
}

// mergeLogConfig applies a change to the log levels as they are. Neither is changed.
func mergeLogConfig(old, change *storm.LogConfig, now time.Time) (*storm.LogConfig, error) {
	next := storm.NewLogConfig()
	levels := map[string]*storm.LogLevel{}
	for name, level := range old.GetNamedLoggerLevel() {
		kept := *level
		kept.Action = storm.LogLevelAction_UNCHANGED
		levels[name] = &kept
	}
	for name, level := range change.GetNamedLoggerLevel() {
		if name == "" {
			return nil, errors.New("named loggers need a valid name, use ROOT for the root logger")
		}
		if level == nil {
			continue
		}
		switch level.Action {
		case storm.LogLevelAction_UPDATE:
			set := *level
			set.ResetLogLevelTimeoutEpoch = nil
			if secs := int64(level.GetResetLogLevelTimeoutSecs()); secs > 0 {
				at := now.UnixMilli() + secs*1000
				set.ResetLogLevelTimeoutEpoch = &at
			}
			levels[name] = &set
		case storm.LogLevelAction_REMOVE:
			delete(levels, name)
		case storm.LogLevelAction_UNCHANGED:
		}
	}
	next.NamedLoggerLevel = levels
	return next, nil
}

// GetLogConfig returns the log levels of a topology's workers.
func (n *Nimbus) GetLogConfig(ctx context.Context, id string) (*storm.LogConfig, error) {
	t, err := n.existing(id)
	if err != nil {
		return nil, err
	}
	levels, err := n.cluster.LogConfig(ctx, t.id)
	if err != nil {
		return nil, err
	}
	if levels == nil {
		levels = storm.NewLogConfig()
	}
	return levels, nil
}

// SetWorkerProfiler asks the supervisor of a worker for a profiling action.
func (n *Nimbus) SetWorkerProfiler(ctx context.Context, id string, request *storm.ProfileRequest) error {
	t, err := n.existing(id)
	if err != nil {
		return err
	}
	if request == nil || request.NodeInfo == nil || len(request.NodeInfo.Port) == 0 {
		return errors.New("a profiling request needs a host and a port")
	}
	return n.cluster.SetProfileRequest(ctx, t.id, request)
}

// GetComponentPendingProfileActions returns, for each worker of a component, the newest request of a kind that is not done.
func (n *Nimbus) GetComponentPendingProfileActions(ctx context.Context, id, component string, action storm.ProfileAction) ([]*storm.ProfileRequest, error) {
	t, err := n.existing(id)
	if err != nil {
		return nil, err
	}
	requests, err := n.cluster.ProfileRequests(ctx, t.id)
	if err != nil {
		return nil, err
	}
	newest := map[slotKey]*storm.ProfileRequest{}
	for _, r := range requests {
		if r.NodeInfo == nil || r.Action != action {
			continue
		}
		at := keyOf(r.NodeInfo)
		if old := newest[at]; old == nil || r.GetTimeStamp() > old.GetTimeStamp() {
			newest[at] = r
		}
	}
	out := []*storm.ProfileRequest{}
	for at := range t.hostPorts(component) {
		if r := newest[at]; r != nil {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *storm.ProfileRequest) int { return int(keyOf(a.NodeInfo).port - keyOf(b.NodeInfo).port) })
	return out, nil
}

// hostPorts is where a component runs, by host name and port.
func (t *topologyState) hostPorts(component string) map[slotKey]bool {
	out := map[slotKey]bool{}
	if t.assignment == nil {
		return out
	}
	for id, info := range t.assignment.ExecutorNodePort {
		if t.components[id] == component {
			at := keyOf(info)
			at.node = t.assignment.NodeHost[at.node]
			out[at] = true
		}
	}
	return out
}

// existing finds a topology by id.
func (n *Nimbus) existing(id string) (*topologyState, error) {
	if err := n.ready(); err != nil {
		return nil, err
	}
	if t := n.model.byID(id); t != nil {
		return t, nil
	}
	return nil, unknownID(id)
}
