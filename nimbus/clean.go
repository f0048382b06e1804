// SPDX-License-Identifier: Apache-2.0

// Cleaning up: what ended topologies left behind, old JARs, old history, transfers that nobody goes on with.

package nimbus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/nimbus/blobstore"
)

// dependencyPrefix begins the keys of blobs that a client uploads for one topology (storm jar --jars).
const dependencyPrefix = "dep-"

// clean is the loop of the cleaner.
func (n *Nimbus) clean(ctx context.Context) error {
	c := &cleaner{n: n, gone: map[string]time.Time{}}
	leftovers := time.NewTicker(max(n.cfg.MonitorEvery, time.Second))
	defer leftovers.Stop()
	old := time.NewTicker(max(n.cfg.InboxEvery, time.Second))
	defer old.Stop()
	c.old()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-leftovers.C:
			n.expireTransfers()
			if n.Ready() {
				if err := c.leftovers(ctx); err != nil && ctx.Err() == nil {
					n.log.Warn("leftovers of topologies not removed", zap.Error(err))
				}
			}
		case <-old.C:
			c.old()
		}
	}
}

func (n *Nimbus) expireTransfers() {
	now := n.now()
	n.uploads.expire(now)
	n.blobUploads.expire(now)
	n.blobDownloads.expire(now)
	n.blobLists.expire(now)
}

// cleaner removes what is not needed any more.
type cleaner struct {
	n *Nimbus
	// gone are when ids that do not exist were first seen to have left something.
	gone map[string]time.Time
}

// old removes JARs from the inbox and entries from the history that are past their age.
func (c *cleaner) old() {
	removed, err := c.n.inbox.clean(c.n.cfg.InboxKeep, time.Now())
	if err != nil {
		c.n.log.Warn("inbox not cleaned", zap.Error(err))
	}
	if removed > 0 {
		c.n.log.Info("inbox cleaned", zap.Int("removed", removed))
	}
	if err := c.n.history.expire(c.n.cfg.HistoryKeep, time.Now()); err != nil {
		c.n.log.Warn("history not cleaned", zap.Error(err))
	}
}

// leftovers removes what topologies left that ended long enough ago. The delay keeps what a supervisor may still be downloading, and
// the blobs of a submit that is under way.
func (c *cleaner) leftovers(ctx context.Context) error {
	ids, err := c.found(ctx)
	if err != nil {
		return err
	}
	now := c.n.now()
	maps.DeleteFunc(c.gone, func(id string, _ time.Time) bool { return !ids[id] || c.n.model.keepsBlobs(id) })
	var faults []error
	for id := range ids {
		if c.n.model.keepsBlobs(id) || c.n.model.isKept(id) {
			continue
		}
		since, seen := c.gone[id]
		if !seen {
			c.gone[id] = now
			since = now
		}
		if now.Sub(since) < c.n.cfg.BlobDelay {
			continue
		}
		if err := c.remove(ctx, id); err != nil {
			faults = append(faults, err)
			continue
		}
		delete(c.gone, id)
		c.n.log.Info("leftovers removed", topologyField(id))
	}
	return errors.Join(faults...)
}

// found lists all ids that have something anywhere.
func (c *cleaner) found(ctx context.Context) (map[string]bool, error) {
	ids := map[string]bool{}
	for _, key := range c.n.blobs.Keys() {
		if id, ok := topologyOfKey(key); ok {
			ids[id] = true
		}
	}
	state := c.n.cluster
	for _, list := range []func(context.Context) ([]string, error){
		state.WorkerBeatTopologies, state.ErrorTopologies, state.CredentialTopologies, state.LogConfigTopologies, state.ProfileTopologies,
		state.Assignments,
	} {
		more, err := list(ctx)
		if err != nil {
			return nil, err
		}
		for _, id := range more {
			ids[id] = true
		}
	}
	return ids, nil
}

// remove takes away everything of one ended topology.
func (c *cleaner) remove(ctx context.Context, id string) error {
	state := c.n.cluster
	for _, drop := range []func(context.Context, string) error{
		state.RemoveWorkerBeats, state.RemoveErrors, state.RemoveCredentials, state.RemoveLogConfig, state.RemoveProfileRequests,
		state.RemoveAssignment,
	} {
		if err := drop(ctx, id); err != nil {
			return fmt.Errorf("clean up after topology %s: %w", id, err)
		}
	}
	c.dropDependencies(ctx, id)
	for _, key := range topologyKeys(id) {
		if err := c.n.removeBlob(ctx, key); err != nil && !isKeyNotFound(err) {
			return fmt.Errorf("clean up after topology %s: %w", id, err)
		}
	}
	return nil
}

// dropDependencies removes the blobs that were uploaded for this topology alone. The list comes from its submitter, so only keys of
// that kind count, and none that another topology uses: ending a topology never takes a blob from anybody else.
func (c *cleaner) dropDependencies(ctx context.Context, id string) {
	ended, err := c.n.readCode(ctx, id)
	if err != nil {
		return // without its code nobody knows them; they stay
	}
	for _, key := range ended.user.DependencyJars {
		if !strings.HasPrefix(key, dependencyPrefix) || c.n.userOfBlob(key) != "" {
			continue
		}
		if err := c.n.removeBlob(ctx, key); err != nil && !isKeyNotFound(err) {
			c.n.log.Warn("dependency not removed", topologyField(id), blobField(key), zap.Error(err))
		}
	}
}

// reconcileBlobs brings the folder of blobs and the cluster state together at a start. The cluster state is the truth: a blob that it
// does not know was deleted. But a cluster state that knows nothing at all was lost or is new, and then nothing is deleted: users'
// blobs are announced again, and those of topologies stay until somebody removes them.
func (n *Nimbus) reconcileBlobs(ctx context.Context, ids []string) error {
	announced, err := n.cluster.BlobKeys(ctx)
	if err != nil {
		return err
	}
	local := n.blobs.Keys()
	fresh := len(announced) == 0 && len(ids) == 0
	if fresh && len(local) > 0 {
		n.log.Warn("the cluster state knows no blob and no topology, local blobs are kept", zap.Int("blobs", len(local)))
	}
	kept := map[string]bool{}
	for _, key := range local {
		if _, known := slices.BinarySearch(announced, key); known {
			continue
		}
		id, ofTopology := topologyOfKey(key)
		switch {
		case fresh && ofTopology:
			kept[id] = true
		case fresh:
			if err := n.announceBlob(ctx, key); err != nil {
				return err
			}
		case ofTopology && slices.Contains(ids, id):
			n.log.Warn("blob of a topology was not announced", blobField(key))
			if err := n.announceBlob(ctx, key); err != nil {
				return err
			}
		default:
			if err := n.blobs.Delete(key); err != nil && !errors.Is(err, blobstore.ErrNotFound) {
				return fmt.Errorf("delete a blob that the cluster state does not know: %w", err)
			}
			n.log.Info("blob deleted that the cluster state does not know", blobField(key))
		}
	}
	n.model.keep(kept)
	return n.forgetBlobs(ctx, announced, ids)
}

// forgetBlobs takes out of the cluster state the blobs of ended topologies that are not there any more.
func (n *Nimbus) forgetBlobs(ctx context.Context, announced, ids []string) error {
	for _, key := range announced {
		if n.blobs.Has(key) {
			continue
		}
		id, ofTopology := topologyOfKey(key)
		if !ofTopology || slices.Contains(ids, id) {
			n.log.Error("a blob that the cluster state knows is missing", blobField(key))
			continue
		}
		if err := n.cluster.RemoveBlob(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
