// SPDX-License-Identifier: Apache-2.0

// Kill, activate, deactivate, rebalance and debug: what operators do to a running topology.

package nimbus

import (
	"cmp"
	"context"
	"errors"
	"maps"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/lifecycle"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
)

// KillTopology kills a topology after its message timeout.
func (n *Nimbus) KillTopology(ctx context.Context, name string) error {
	return n.KillTopologyWithOpts(ctx, name, &storm.KillOptions{})
}

// KillTopologyWithOpts stops a topology's spouts now and removes it after the wait.
func (n *Nimbus) KillTopologyWithOpts(ctx context.Context, name string, options *storm.KillOptions) error {
	t, err := n.named(name)
	if err != nil {
		return err
	}
	r := lifecycle.Request{Event: lifecycle.Kill}
	if options != nil {
		r.WaitSecs = options.WaitSecs
	}
	if err := n.transitName(ctx, t, r); err != nil {
		return err
	}
	entry := &storm.LSTopoHistory{TopologyID: t.id, TimeStamp: n.now().Unix(), Users: logUsers(t.code.conf), Groups: logGroups(t.code.conf)}
	if err := n.history.add(entry); err != nil {
		n.log.Warn("killed topology not noted in the history", topologyField(t.id), zap.Error(err))
	}
	return nil
}

// Activate starts the spouts of a topology.
func (n *Nimbus) Activate(ctx context.Context, name string) error {
	return n.turn(ctx, name, lifecycle.Activate)
}

// Deactivate stops the spouts of a topology.
func (n *Nimbus) Deactivate(ctx context.Context, name string) error {
	return n.turn(ctx, name, lifecycle.Inactivate)
}

func (n *Nimbus) turn(ctx context.Context, name string, event lifecycle.Event) error {
	t, err := n.named(name)
	if err != nil {
		return err
	}
	return n.transitName(ctx, t, lifecycle.Request{Event: event})
}

// Rebalance places a topology anew after the wait, with other numbers, conf or resources if the options have any.
func (n *Nimbus) Rebalance(ctx context.Context, name string, options *storm.RebalanceOptions) error {
	t, err := n.named(name)
	if err != nil {
		return err
	}
	checked := storm.RebalanceOptions{}
	if options != nil {
		checked = *options
	}
	checked.Principal = nil // callers do not say who they are
	if err := topology.CheckRebalance(name, t.code.user, &checked); err != nil {
		return err
	}
	if checked.NumWorkers != nil && *checked.NumWorkers < 0 {
		return invalid("Number of workers must not be negative, it is %d", *checked.NumWorkers)
	}
	if checked.TopologyConfOverrides != nil && *checked.TopologyConfOverrides != "" {
		text, err := n.checkOverrides(t, *checked.TopologyConfOverrides)
		if err != nil {
			return err
		}
		checked.TopologyConfOverrides = &text
	}
	if len(checked.TopologyResourcesOverrides) > 0 {
		if err := n.checkResources(t, checked.TopologyResourcesOverrides); err != nil {
			return err
		}
	}
	asked := *t.base // as it will be when the options are applied, which it keeps
	asked.TopologyActionOptions = &storm.TopologyActionOptions{RebalanceOptions: &checked}
	asked.ComponentExecutors = map[string]int32{}
	maps.Copy(asked.ComponentExecutors, t.base.ComponentExecutors)
	maps.Copy(asked.ComponentExecutors, checked.NumExecutors)
	if err := checkBase(ctx, &asked); err != nil {
		return err
	}
	return n.transitName(ctx, t, lifecycle.Request{Event: lifecycle.Rebalance, Rebalance: &checked})
}

// notOverridden are the keys that a rebalance may not set.
func notOverridden() []string {
	return []string{
		config.TopologySubmitterPrincipal, config.TopologySubmitterUser, config.StormZookeeperSuperACL, config.StormZookeeperTopologyAuthScheme,
		config.StormZookeeperTopologyAuthPayload, config.StormLocalHostname, config.StormWorkersArtifactsDir, config.StormId, config.TopologyName,
		config.TopologyUsers, config.StormCgroupHierarchyDir, config.WorkerMetrics,
	}
}

// checkOverrides lets conf overrides through the same checks as a submitted conf, and returns what may be applied. Storm does not
// check them, so a rebalance could store what a submit refuses.
func (n *Nimbus) checkOverrides(t *topologyState, text string) (string, error) {
	overrides, err := config.ParseJSON([]byte(text))
	if err != nil {
		return "", invalid("The conf overrides for topology %s are not valid: %v", t.name(), err)
	}
	for _, key := range notOverridden() {
		delete(overrides, key)
	}
	if !n.cfg.Conf.Bool(config.StormTopologyClasspathBeginningEnabled, false) {
		delete(overrides, config.TopologyClasspathBeginning)
	}
	// The saved conf is normalized, which a submitted one is not, so only the overrides are held against the rules for keys.
	if err := cmp.Or(config.ValidateTopology(overrides), config.ValidateOwn(overrides)); err != nil {
		return "", asInvalid(err)
	}
	merged := config.Merge(t.code.conf, overrides)
	if err := n.checkWhole(merged, t.code.user); err != nil {
		return "", err
	}
	c, err := newCode(merged, t.code.user)
	if err != nil {
		return "", asInvalid(err)
	}
	jar := n.jarBlob(t.id)
	defer jar.close()
	if _, err := withEngines(c, jar); err != nil {
		return "", err
	}
	checked, err := overrides.JSON()
	if err != nil {
		return "", asInvalid(err)
	}
	return string(checked), nil
}

// checkResources refuses resource overrides that no worker could be given.
func (n *Nimbus) checkResources(t *topologyState, overrides map[string]map[string]float64) error {
	for id, resources := range overrides {
		for name, value := range resources {
			if !(value >= 0) { // NaN too
				return invalid("Resource %s of component %s must not be negative, it is %v", name, id, value)
			}
		}
	}
	user, err := topology.OverrideResources(t.code.user, overrides)
	if err != nil {
		return asInvalid(err)
	}
	return topology.CheckHeap(t.code.conf, n.cfg.Conf, user)
}

// applyOverrides rewrites the blobs of a topology. The caller holds changing.
func (n *Nimbus) applyOverrides(ctx context.Context, id string, options *storm.RebalanceOptions) error {
	t := n.model.byID(id)
	if t == nil || !t.readable() {
		return nil
	}
	conf, user := t.code.conf, t.code.user
	if text := options.GetTopologyConfOverrides(); text != "" {
		overrides, err := config.ParseJSON([]byte(text))
		if err != nil {
			return err
		}
		conf = config.Merge(conf, overrides)
	}
	user, err := topology.OverrideResources(user, options.TopologyResourcesOverrides)
	if err != nil {
		return err
	}
	c, err := newCode(conf, user)
	if err != nil {
		return err
	}
	jar := n.jarBlob(id)
	defer jar.close()
	if c, err = withEngines(c, jar); err != nil {
		return err
	}
	confBlob, codeBlob, err := c.encode(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(n.rewrite(codeKey(id), codeBlob), n.rewrite(confKey(id), confBlob)); err != nil {
		return err
	}
	n.model.update(id, func(t topologyState) topologyState {
		t.setCode(c)
		return t
	})
	return nil
}

func (n *Nimbus) rewrite(key string, content []byte) error {
	upload, err := n.blobs.Update(key)
	if err != nil {
		return err
	}
	defer upload.Abort()
	if _, err := upload.Write(content); err != nil {
		return err
	}
	return upload.Commit()
}

// Debug switches the sampling of tuples into the event log, for one component or for the whole topology.
func (n *Nimbus) Debug(ctx context.Context, name, component string, enable bool, percentage float64) error {
	t, err := n.named(name)
	if err != nil {
		return err
	}
	key := component
	if key == "" {
		key = t.id
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	if t = n.model.byID(t.id); t == nil {
		return unknownName(name)
	}
	base := *t.base
	base.ComponentDebug = withDebug(base.ComponentDebug, key, enable, max(0, min(100, percentage)))
	if err := checkBase(ctx, &base); err != nil {
		return err
	}
	return n.writeBase(ctx, t.id, &base)
}

// withDebug adds a debug option as Storm does: percentages add up, and switching off keeps the percentage.
func withDebug(old map[string]*storm.DebugOptions, key string, enable bool, percentage float64) map[string]*storm.DebugOptions {
	out := maps.Clone(old)
	if out == nil {
		out = map[string]*storm.DebugOptions{}
	}
	sum := 0.0
	if before := out[key]; before != nil {
		sum = before.GetSamplingpct()
	}
	if enable {
		sum += percentage
	}
	out[key] = &storm.DebugOptions{Enable: &enable, Samplingpct: &sum}
	return out
}

// named finds a topology by name for a call that changes it, which only the leader may do.
func (n *Nimbus) named(name string) (*topologyState, error) {
	if err := n.assertLeader(); err != nil {
		return nil, err
	}
	if t := n.model.byName(name); t != nil {
		return t, nil
	}
	return nil, unknownName(name)
}

// transitName applies an event to a topology that a client named.
func (n *Nimbus) transitName(ctx context.Context, t *topologyState, r lifecycle.Request) error {
	err := n.transit(ctx, t.id, r)
	if _, gone := errors.AsType[*storm.NotAliveException](err); gone {
		return unknownName(t.name())
	}
	return err
}
