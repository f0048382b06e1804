// SPDX-License-Identifier: Apache-2.0

// This file submits and kills the bench topology through a Thrift client, so
// that no client JVM's start is in what is timed.

package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"

	"github.com/gust-stream/gust/bench/rig"
)

// chunk is how much of a JAR Storm's own client sends at once, in bytes.
const chunk = 307_200

// upload sends the JAR and gives its location at Nimbus.
func upload(ctx context.Context, nimbus *leader.Nimbus, jar string) (string, error) {
	data, err := os.ReadFile(jar)
	if err != nil {
		return "", fmt.Errorf("upload: %w", err)
	}
	location, err := nimbus.BeginFileUpload(ctx)
	if err != nil {
		return "", fmt.Errorf("upload: %w", err)
	}
	for len(data) > 0 {
		n := min(chunk, len(data))
		if err := nimbus.UploadChunk(ctx, location, data[:n]); err != nil {
			return "", fmt.Errorf("upload: %w", err)
		}
		data = data[n:]
	}
	if err := nimbus.FinishFileUpload(ctx, location); err != nil {
		return "", fmt.Errorf("upload: %w", err)
	}
	return location, nil
}

// topologyConf is the conf that the bench topology is submitted with.
func topologyConf(out string) (string, error) {
	text, err := json.Marshal(map[string]any{
		"topology.workers": 1, "topology.acker.executors": 1, "topology.message.timeout.secs": 180,
		"topology.max.spout.pending": 100, "compat.out": out,
	})
	return string(text), err
}

// alone is a Nimbus without supervisors: no worker can start, what is left is Nimbus.
func alone() rig.Shape { return rig.Shape{Hosts: []string{}} }

// recordTopology has Storm's client submit the bench topology to a gust
// without supervisors and keeps what arrived, to submit it again without a JVM.
func (r *Run) recordTopology(ctx context.Context) error {
	if r.topology != nil {
		return nil
	}
	r.Say("recording the bench topology")
	return r.with(ctx, rig.Three, alone(), func(c *rig.Cluster) error {
		if _, err := c.Start(ctx); err != nil {
			return err
		}
		if err := c.SubmitByJar(ctx, "recorded"); err != nil {
			return err
		}
		nimbus, err := c.Client(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = nimbus.Close() }() // the process ends next
		summary, err := nimbus.GetTopologySummaryByName(ctx, "recorded")
		if err != nil {
			return fmt.Errorf("record topology: %w", err)
		}
		r.topology, err = nimbus.GetUserTopology(ctx, summary.ID)
		return err
	})
}

// submit submits the recorded topology under a name.
func (r *Run) submit(ctx context.Context, c *rig.Cluster, nimbus *leader.Nimbus, name string) error {
	location, err := upload(ctx, nimbus, r.Site.Jar)
	if err != nil {
		return err
	}
	return r.submitAt(ctx, c, nimbus, name, location)
}

// submitAt is submit with a JAR that has been uploaded.
func (r *Run) submitAt(ctx context.Context, c *rig.Cluster, nimbus *leader.Nimbus, name, location string) error {
	conf, err := topologyConf(c.Out())
	if err != nil {
		return err
	}
	options := &storm.SubmitOptions{InitialStatus: storm.TopologyInitialStatus_ACTIVE}
	if err := nimbus.SubmitTopologyWithOpts(ctx, name, location, conf, r.topology, options); err != nil {
		return fmt.Errorf("submit topology %s: %w", name, err)
	}
	return nil
}

// kill removes a topology and waits until its workers are gone.
func kill(ctx context.Context, c *rig.Cluster, nimbus *leader.Nimbus, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	now := int32(0)
	if err := nimbus.KillTopologyWithOpts(ctx, name, &storm.KillOptions{WaitSecs: &now}); err != nil {
		return fmt.Errorf("kill topology %s: %w", name, err)
	}
	return testbed.Await(ctx, "the end of the workers of "+name, 50*time.Millisecond, func() (bool, error) {
		pids, err := c.Workers()
		return len(pids) == 0, err
	})
}
