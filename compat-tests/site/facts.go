// SPDX-License-Identifier: Apache-2.0

// This file reads what gust has acknowledged about a topology and must not lose.

package site

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"
)

// Facts are what was acknowledged about a topology.
type Facts struct {
	ID, Status string
	// Versions are those of its three blobs and of all others that were asked for.
	Versions    map[string]int64
	Credentials map[string]string
	// Levels are the log levels that were set, by logger.
	Levels map[string]string
}

// Facts reads them: from Nimbus, and the credentials, which it gives nobody, from the cluster state.
func (s *Site) Facts(ctx context.Context, name string, blobs ...string) (f Facts, err error) {
	if f.ID, err = s.TopologyID(ctx, name); err != nil || f.ID == "" {
		return f, err
	}
	f.Versions, f.Levels = map[string]int64{}, map[string]string{}
	err = s.Ask(ctx, func(ctx context.Context, nimbus *leader.Nimbus) error {
		summary, err := nimbus.GetTopologySummary(ctx, f.ID)
		if err != nil {
			return err
		}
		f.Status = summary.Status
		for _, key := range append([]string{f.ID + "-stormjar.jar", f.ID + "-stormconf.ser", f.ID + "-stormcode.ser"}, blobs...) {
			meta, err := nimbus.GetBlobMeta(ctx, key)
			if err != nil {
				return fmt.Errorf("meta of blob %s: %w", key, err)
			}
			f.Versions[key] = meta.Version
		}
		levels, err := nimbus.GetLogConfig(ctx, f.ID)
		if err != nil {
			return err
		}
		for logger, level := range levels.NamedLoggerLevel {
			f.Levels[logger] = level.GetTargetLogLevel()
		}
		return nil
	})
	if err != nil {
		return f, err
	}
	state, err := s.State(ctx)
	if err != nil {
		return f, err
	}
	defer state.Close()
	credentials, err := state.Credentials(ctx, f.ID)
	f.Credentials = credentials.GetCreds()
	return f, err
}

// SupervisorID is the id that a supervisor has given itself, "" before its first start.
func (s *Site) SupervisorID(name string) (string, error) {
	return localstate.New(filepath.Join(s.LocalDir(name), "supervisor", "isupervisor"), time.Now, zap.NewNop()).SupervisorID()
}

// UsersBlob is a blob that Acknowledge makes.
const UsersBlob = "users-blob"

// Acknowledge makes gust acknowledge something of every kind about a topology, and gives all of it.
func (y *Steady) Acknowledge(ctx context.Context) (Facts, error) {
	const logger = "org.gust.compat"
	err := y.site.Ask(ctx, func(ctx context.Context, nimbus *leader.Nimbus) error {
		level := "DEBUG"
		if err := nimbus.SetLogConfig(ctx, y.ID, &storm.LogConfig{NamedLoggerLevel: map[string]*storm.LogLevel{
			logger: {Action: storm.LogLevelAction_UPDATE, TargetLogLevel: &level},
		}}); err != nil {
			return err
		}
		return nimbus.UploadNewCredentials(ctx, y.Name, &storm.Credentials{Creds: map[string]string{"who": "knows"}})
	})
	if err != nil {
		return Facts{}, err
	}
	if err := y.site.PutBlob(ctx, UsersBlob, []byte("a blob of the user"), false); err != nil {
		return Facts{}, err
	}
	facts, err := y.site.Facts(ctx, y.Name, UsersBlob)
	if err == nil && (facts.Status != "ACTIVE" || facts.Credentials["who"] != "knows" || facts.Levels[logger] != "DEBUG" || facts.Versions[UsersBlob] == 0) {
		err = fmt.Errorf("facts are not what was set: %+v", facts)
	}
	return facts, err
}
