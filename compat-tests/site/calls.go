// SPDX-License-Identifier: Apache-2.0

// This file talks to the site: to Nimbus by gust's own client, to the cluster
// state, and through Storm's submitter.

package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// callLimit bounds one call.
const callLimit = 30 * time.Second

// Ask calls Nimbus over a connection of its own, as Storm's clients do.
func (s *Site) Ask(ctx context.Context, call func(ctx context.Context, nimbus *leader.Nimbus) error) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	nimbus, err := leader.Dial(ctx, leader.Config{
		Seeds: []string{"localhost"}, Port: s.NimbusPort,
		RPC: rpc.ClientConfig{ConnectTimeout: 10 * time.Second, CallTimeout: callLimit, MaxFrame: 16 << 20},
	})
	if err != nil {
		return err
	}
	return errors.Join(call(ctx, nimbus), nimbus.Close())
}

// Info is what getClusterInfo answers.
func (s *Site) Info(ctx context.Context) (info *storm.ClusterSummary, err error) {
	err = s.Ask(ctx, func(ctx context.Context, nimbus *leader.Nimbus) error {
		info, err = nimbus.GetClusterInfo(ctx)
		return err
	})
	return info, err
}

// answering waits until a Nimbus that was just started leads.
func (s *Site) answering(ctx context.Context, d *Daemon) error {
	return within(ctx, startLimit, d.Name+" to answer", func() (bool, error) {
		if err := d.Ended(); err != nil {
			return false, err
		}
		_, err := s.Info(ctx)
		return err == nil, nil // refused, or not leading yet: that is what is waited out
	})
}

// registered waits until Nimbus lists a supervisor that was just started.
func (s *Site) registered(ctx context.Context, d *Daemon) error {
	began := time.Now()
	return within(ctx, startLimit, d.Name+" to be listed", func() (bool, error) {
		if err := d.Ended(); err != nil {
			return false, err
		}
		summary, err := s.Supervisor(ctx, d.Name)
		// The entry of the one before it may still be there.
		return err == nil && summary != nil && time.Duration(summary.UptimeSecs)*time.Second <= time.Since(began)+time.Second, nil
	})
}

// Supervisor is a supervisor as Nimbus lists it, nil when it does not.
func (s *Site) Supervisor(ctx context.Context, name string) (*storm.SupervisorSummary, error) {
	id, err := s.SupervisorID(name)
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx)
	if err != nil {
		return nil, err
	}
	for _, summary := range info.Supervisors {
		if summary.SupervisorID == id {
			return summary, nil
		}
	}
	return nil, nil
}

// State opens a session with the cluster state.
func (s *Site) State(ctx context.Context) (*cluster.State, error) {
	return cluster.Connect(ctx, cluster.Config{
		Servers: []string{fmt.Sprintf("localhost:%d", s.ZooKeeperPort)}, Root: "/storm", SessionTimeout: 10 * time.Second, ConnectTimeout: 10 * time.Second,
	}, zap.NewNop())
}

// JavaSubmit runs a main class of the test topologies as `storm jar` runs it.
func (s *Site) JavaSubmit(ctx context.Context, main string, args ...string) error {
	_, err := harness.Submit(ctx, javaSite{s: s}, harness.Submission{Main: main, Args: args})
	return err
}

// javaSite shows a site to the harness's submitter, which asks only for settings.
type javaSite struct {
	harness.Cluster
	s *Site
}

func (j javaSite) Settings() harness.Settings { return harness.Settings{Dir: j.s.Dir} }

// Upload sends a file into Nimbus's inbox and gives its place there.
func Upload(ctx context.Context, nimbus *leader.Nimbus, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("upload: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	return UploadFrom(ctx, nimbus, file)
}

// UploadFrom sends what a reader gives into Nimbus's inbox.
func UploadFrom(ctx context.Context, nimbus *leader.Nimbus, from io.Reader) (string, error) {
	location, err := nimbus.BeginFileUpload(ctx)
	if err != nil {
		return "", fmt.Errorf("upload: %w", err)
	}
	buffer := make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(from, buffer)
		if n > 0 {
			if err := nimbus.UploadChunk(ctx, location, buffer[:n]); err != nil {
				return location, fmt.Errorf("upload to %s: %w", location, err)
			}
		}
		if err != nil {
			break
		}
	}
	if err := nimbus.FinishFileUpload(ctx, location); err != nil {
		return location, fmt.Errorf("upload to %s: %w", location, err)
	}
	return location, nil
}

// Resubmit submits the code of a topology that runs under another name, without a JVM.
func (s *Site) Resubmit(ctx context.Context, id, name string, conf map[string]any) error {
	jar, err := harness.Jar()
	if err != nil {
		return err
	}
	text, err := json.Marshal(conf)
	if err != nil {
		return fmt.Errorf("submit %s: %w", name, err)
	}
	return s.Ask(ctx, func(ctx context.Context, nimbus *leader.Nimbus) error {
		code, err := nimbus.GetUserTopology(ctx, id)
		if err != nil {
			return err
		}
		location, err := Upload(ctx, nimbus, jar)
		if err != nil {
			return err
		}
		return nimbus.SubmitTopology(ctx, name, location, string(text), code)
	})
}

// KillTopology kills a topology without delay and waits until it is not listed.
func (s *Site) KillTopology(ctx context.Context, name string) error {
	err := s.Ask(ctx, func(ctx context.Context, nimbus *leader.Nimbus) error {
		now := int32(0)
		return nimbus.KillTopologyWithOpts(ctx, name, &storm.KillOptions{WaitSecs: &now})
	})
	if err != nil {
		return err
	}
	return within(ctx, startLimit, name+" to be gone", func() (bool, error) {
		id, err := s.TopologyID(ctx, name)
		return id == "", err
	})
}

// TopologyID is the id of a topology that is listed, else "".
func (s *Site) TopologyID(ctx context.Context, name string) (string, error) {
	info, err := s.Info(ctx)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(info.Topologies, func(t *storm.TopologySummary) bool { return t.Name == name })
	if at < 0 {
		return "", nil
	}
	return info.Topologies[at].ID, nil
}

// BlobKeys are the keys of all blobs.
func (s *Site) BlobKeys(ctx context.Context) (keys []string, err error) {
	err = s.Ask(ctx, func(ctx context.Context, nimbus *leader.Nimbus) error {
		session := ""
		for {
			page, err := nimbus.ListBlobs(ctx, session)
			if err != nil {
				return err
			}
			if len(page.Keys) == 0 {
				slices.Sort(keys)
				return nil
			}
			keys, session = append(keys, page.Keys...), page.Session
		}
	})
	return keys, err
}

// PutBlob creates or updates a blob.
func (s *Site) PutBlob(ctx context.Context, key string, content []byte, update bool) error {
	return s.Ask(ctx, func(ctx context.Context, nimbus *leader.Nimbus) (err error) {
		var session string
		if update {
			session, err = nimbus.BeginUpdateBlob(ctx, key)
		} else {
			session, err = nimbus.BeginCreateBlob(ctx, key, &storm.SettableBlobMeta{Acl: []*storm.AccessControl{}})
		}
		if err != nil {
			return err
		}
		if err := nimbus.UploadBlobChunk(ctx, session, content); err != nil {
			return err
		}
		return nimbus.FinishBlobUpload(ctx, session)
	})
}
