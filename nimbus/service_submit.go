// SPDX-License-Identifier: Apache-2.0

// Submitting a topology: from the call to the moment at which it is stored and the scheduler knows it.

package nimbus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/nimbus/blobstore"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
)

// settleTimeout is how long a submit tries to find out whether its write happened: longer than a server takes to come back.
const settleTimeout = 30 * time.Second

// SubmitTopology takes in a topology that is active from the start.
func (n *Nimbus) SubmitTopology(ctx context.Context, name, jar, jsonConf string, topo *storm.StormTopology) error {
	return n.SubmitTopologyWithOpts(ctx, name, jar, jsonConf, topo, &storm.SubmitOptions{InitialStatus: storm.TopologyInitialStatus_ACTIVE})
}

// IsTopologyNameAllowed says whether a topology of this name could be submitted now.
func (n *Nimbus) IsTopologyNameAllowed(_ context.Context, name string) (bool, error) {
	if err := n.ready(); err != nil {
		return false, err
	}
	return checkName(name) == nil && n.model.byName(name) == nil, nil
}

// SubmitTopologyWithOpts takes in a topology. When it returns without an error, everything is stored durably; with one, nothing is.
func (n *Nimbus) SubmitTopologyWithOpts(ctx context.Context, name, jar, jsonConf string, topo *storm.StormTopology, options *storm.SubmitOptions) error {
	if err := n.assertLeader(); err != nil {
		return err
	}
	if options == nil {
		return invalid("Cannot submitTopologyWithOpts: SubmitOptions parameter value is null")
	}
	if err := checkName(name); err != nil {
		return err
	}
	if n.model.byName(name) != nil {
		return taken(name)
	}
	s, err := n.prepare(ctx, name, jsonConf, topo, options)
	if err != nil {
		return err
	}
	if s.jar, err = n.inbox.jar(jar); err != nil {
		return err
	}
	if err := s.decideEngines(); err != nil {
		return err
	}
	free, err := n.reserve(ctx, name)
	if err != nil {
		return err
	}
	defer free()
	return n.store(ctx, s)
}

// submit is a topology that was checked and is ready to be stored.
type submit struct {
	id    string
	jar   string
	state *topologyState
	creds *storm.Credentials
}

// prepare checks a submission in Storm's order and makes everything that will be stored.
func (n *Nimbus) prepare(ctx context.Context, name, jsonConf string, topo *storm.StormTopology, options *storm.SubmitOptions) (*submit, error) {
	status, err := initialStatus(options.InitialStatus)
	if err != nil {
		return nil, err
	}
	submitted, err := config.ParseJSON([]byte(jsonConf))
	if err != nil {
		return nil, invalid("The conf of topology %s is not valid: %v", name, err)
	}
	if err := n.checkSubmitted(submitted, topo); err != nil {
		return nil, err
	}
	now := n.now()
	sub := submission{id: newTopologyID(name, n.submitted.Add(1), now), name: name, owner: n.cfg.User}
	saved, err := savedConf(n.cfg.Conf, submitted, topo, sub)
	if err != nil {
		return nil, asInvalid(err)
	}
	if err := completeState(n.cfg.Conf, saved, topo); err != nil {
		return nil, err
	}
	user, err := topology.Normalize(saved, topo)
	if err != nil {
		return nil, asInvalid(err)
	}
	t := &topologyState{id: sub.id}
	c, err := newCode(saved, user)
	if err != nil {
		return nil, asInvalid(err)
	}
	if err := topology.CheckSize(saved, n.cfg.Conf, c.user); err != nil {
		return nil, err
	}
	if err := n.checkStates(ctx, c); err != nil {
		return nil, err
	}
	t.base = &storm.StormBase{
		Name: name, Status: status, NumWorkers: int32(saved.Int(config.TopologyWorkers, 0)),
		ComponentExecutors: topology.ComponentExecutors(c.system), Owner: &sub.owner, Principal: &sub.principal,
		ComponentDebug: map[string]*storm.DebugOptions{},
	}
	launched := int32(now.Unix())
	t.base.LaunchTimeSecs = &launched
	if saved.Has(config.TopologyVersion) {
		version := saved.String(config.TopologyVersion, "")
		t.base.TopologyVersion = &version
	}
	if err := checkBase(ctx, t.base); err != nil {
		return nil, err
	}
	t.setCode(c)
	s := &submit{id: sub.id, state: t}
	if options.Creds != nil {
		s.creds = &storm.Credentials{Creds: maps.Clone(options.Creds.Creds), TopoOwner: options.Creds.TopoOwner}
	}
	return s, ctx.Err()
}

// reserve takes the name, waiting for another submit of the same name to end: if that one fails, this one may still win.
func (n *Nimbus) reserve(ctx context.Context, name string) (free func(), err error) {
	for {
		free, other := n.model.reserve(name)
		switch {
		case free != nil:
			return free, nil
		case other == nil:
			return nil, taken(name)
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// store writes the three blobs, which nobody sees yet, and then everything else at once: the topology exists from that write on.
func (n *Nimbus) store(ctx context.Context, s *submit) error {
	defer n.model.expectBlobs(s.id)()
	conf, encoded, err := s.state.code.encode(ctx)
	if err != nil {
		return err
	}
	meta, err := normalizeACL(nil)
	if err != nil {
		return err
	}
	err = n.blobs.Put(ctx,
		blobstore.Content{Key: jarKey(s.id), Meta: meta, File: s.jar},
		blobstore.Content{Key: confKey(s.id), Meta: meta, Data: conf},
		blobstore.Content{Key: codeKey(s.id), Meta: meta, Data: encoded})
	if errors.Is(err, fs.ErrNotExist) {
		return invalid("Uploaded JAR '%s' does not exist", s.jar)
	}
	if err != nil {
		return fmt.Errorf("store topology %s: %w", s.id, err)
	}
	if err := n.storeState(ctx, s); err != nil {
		return fmt.Errorf("store topology %s: %w", s.id, err)
	}
	n.model.put(s.state)
	n.log.Info("topology submitted", zap.String("topology_id", s.id), zap.String("storm_version", s.state.code.user.GetStormVersion()))
	n.schedule()
	return nil
}

// storeState writes what the cluster state gets of a new topology.
func (n *Nimbus) storeState(ctx context.Context, s *submit) error {
	batch := n.cluster.Batch()
	for _, key := range topologyKeys(s.id) {
		batch.AddBlob(key, n.self, 1)
	}
	if s.creds != nil {
		batch.SetCredentials(ctx, s.id, s.creds)
	}
	batch.MakeTopology(s.id)
	batch.SetStorm(ctx, s.id, s.state.base)
	err := batch.Commit(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, cluster.ErrTooLarge):
		n.dropBlobs(s.id)
		return invalid("Topology %s and its credentials cannot be stored: %v", s.state.name(), err)
	}
	// The answer may have been lost on the way: what counts is whether the write happened.
	switch stored, readErr := n.settled(ctx, s.id); {
	case readErr != nil:
		n.log.Error("nobody can tell whether a topology was stored, all is read again", topologyField(s.id), zap.Error(readErr))
		n.loseTrack()
		return errors.Join(err, readErr)
	case stored:
		n.log.Warn("write of a topology reported an error but happened", topologyField(s.id), zap.Error(err))
		return nil
	default:
		n.dropBlobs(s.id)
		return err
	}
}

// settled finds out whether a topology is in the cluster state, with some patience for a lost connection.
func (n *Nimbus) settled(ctx context.Context, id string) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	for {
		base, err := n.cluster.Storm(ctx, id)
		if err == nil || clock.Wait(ctx, retryPause) != nil {
			return base != nil, err
		}
	}
}

// dropBlobs takes back the blobs of a submit that failed. The cleaner takes what stays.
func (n *Nimbus) dropBlobs(id string) {
	for _, key := range topologyKeys(id) {
		if err := n.blobs.Delete(key); err != nil {
			n.log.Warn("blob of a failed submit not removed", blobField(key), zap.Error(err))
		}
	}
}
