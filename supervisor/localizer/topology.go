// SPDX-License-Identifier: Apache-2.0

package localizer

// This file turns a request into the list of blobs that the topology needs, and reads the two of them that say so.

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
)

// Topology is a localized topology. Its fields are those of container.Topology, so that one converts to the other.
type Topology struct {
	// ID is the topology's id.
	ID string
	// Conf is the topology's conf as stormconf.ser holds it.
	Conf config.Conf
	// Version is the Storm version that the topology was submitted with, "" if the topology does not say.
	Version string
	// Owner is the user on whose behalf the worker runs.
	Owner string
	// Dir is the folder of the topology's blobs.
	Dir string
	// Dependencies are the absolute paths of dependency jars and artifacts, in class path order.
	Dependencies []string
	// Links are the names in Dir that the worker's folder gets a link to.
	Links []string
}

// bring is how a blob comes to be on disk for a claim: ensure or present.
type bring func(l *Localizer, ctx context.Context, b *blob) error

func (l *Localizer) localize(ctx context.Context, req Request, how bring) (*Topology, error) {
	if err := l.recover(); err != nil {
		return nil, err
	}
	if err := localstate.CheckName("topology id", req.TopologyID); err != nil {
		return nil, err
	}
	if err := localstate.CheckName("owner", req.Owner); err != nil {
		return nil, fmt.Errorf("topology %s: %w", req.TopologyID, err)
	}
	c := l.begin(req)
	for {
		topology, err := c.run(ctx, how)
		if err != nil {
			c.abandon()
			return nil, fmt.Errorf("localize %s: %w", req.TopologyID, err)
		}
		if !c.torn() {
			send(c.keep())
			return topology, nil
		}
	}
}

// run brings the blobs of one claim to disk: first conf, code and jar at once, then what conf and code name.
func (c *claim) run(ctx context.Context, how bring) (*Topology, error) {
	layout, id := c.l.cfg.Layout, c.request.TopologyID
	topology := &Topology{ID: id, Owner: c.request.Owner, Dir: layout.Topology(id)}
	var users, dependencies []userBlob
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.bringTopology(ctx, how, localstate.TopologyJar) })
	group.Go(func() error {
		if err := c.bringTopology(ctx, how, localstate.TopologyConf); err != nil {
			return err
		}
		var err error
		if topology.Conf, err = localstate.ReadConf(topology.Dir); err != nil {
			return err
		}
		if users, err = userBlobs(topology.Conf); err != nil {
			return err
		}
		return c.bringAll(ctx, how, users)
	})
	group.Go(func() error {
		if err := c.bringTopology(ctx, how, localstate.TopologyCode); err != nil {
			return err
		}
		var err error
		if topology.Version, dependencies, err = readCode(ctx, topology.Dir); err != nil {
			return err
		}
		return c.bringAll(ctx, how, dependencies)
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return topology, c.link(topology, users, dependencies)
}

func (c *claim) bringTopology(ctx context.Context, how bring, name string) error {
	b := c.topologyBlob(name)
	if err := how(c.l, ctx, b); err != nil {
		return err
	}
	c.read(b)
	return nil
}

func (c *claim) bringAll(ctx context.Context, how bring, blobs []userBlob) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, b := range blobs {
		group.Go(func() error { return how(c.l, ctx, c.userBlob(b)) })
	}
	return group.Wait()
}

// link makes the topology's folder complete: a link for each user blob and dependency, and the folder in which workers of
// the topology share files.
func (c *claim) link(topology *Topology, users, dependencies []userBlob) error {
	if err := os.MkdirAll(filepath.Join(topology.Dir, sharedDir), 0o755); err != nil {
		return err
	}
	for _, b := range slices.Concat(users, dependencies) {
		target := newUserPlace(c.l.cfg.Layout, topology.Owner, b.key, b.unpack).current()
		if err := replaceLink(c.l.cfg.Layout.Tmp(), target, filepath.Join(topology.Dir, b.localName)); err != nil {
			return err
		}
	}
	for _, b := range users {
		topology.Links = append(topology.Links, b.localName)
	}
	for _, b := range dependencies {
		topology.Dependencies = append(topology.Dependencies, filepath.Join(topology.Dir, b.localName))
	}
	return nil
}

// sharedDir is the folder inside a topology's folder that Storm offers to its workers for sharing files.
const sharedDir = "shared_by_topology"

// userBlob is a blob that belongs to the owner and not to one topology: an entry of topology.blobstore.map, or a dependency.
type userBlob struct {
	key       string
	localName string
	unpack    bool
	restart   bool
}

// reserved are names that have a meaning in the topology's or the worker's folder, so that no link may take them.
func reserved(name string) bool {
	switch name {
	case localstate.TopologyJar, localstate.TopologyCode, localstate.TopologyConf,
		localstate.TopologyJar + localstate.VersionSuffix, localstate.TopologyCode + localstate.VersionSuffix,
		localstate.TopologyConf + localstate.VersionSuffix, localstate.Resources, sharedDir,
		"pids", "heartbeats", "tmp", "artifacts", localstate.GoWorkerFile:
		return true
	}
	return false
}

// userBlobs reads topology.blobstore.map, sorted by key.
func userBlobs(conf config.Conf) ([]userBlob, error) {
	entries := conf.Map(config.TopologyBlobstoreMap)
	taken := make(map[string]string, len(entries))
	blobs := make([]userBlob, 0, len(entries))
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if err := localstate.CheckName("blob key", key); err != nil {
			return nil, fmt.Errorf("%s: %w", config.TopologyBlobstoreMap, err)
		}
		options, _ := entries[key].(map[string]any)
		b := userBlob{key: key, localName: config.Conf(options).String("localname", key)}
		b.unpack = config.Conf(options).Bool("uncompress", false)
		b.restart = config.Conf(options).Bool("workerRestart", false)
		if err := checkLocalName(b.localName, taken); err != nil {
			return nil, fmt.Errorf("%s, blob %s: %w", config.TopologyBlobstoreMap, key, err)
		}
		taken[b.localName] = key
		blobs = append(blobs, b)
	}
	return blobs, nil
}

func checkLocalName(name string, taken map[string]string) error {
	if err := localstate.CheckName("localname", name); err != nil {
		return err
	}
	if reserved(name) {
		return fmt.Errorf("localname %q is reserved", name)
	}
	if other, ok := taken[name]; ok {
		return fmt.Errorf("localname %q is blob %s's already", name, other)
	}
	return nil
}

// readCode reads the topology in dir for its Storm version and its dependencies: jars, then artifacts.
func readCode(ctx context.Context, dir string) (version string, dependencies []userBlob, err error) {
	code, err := localstate.ReadCode(ctx, dir)
	if err != nil {
		return "", nil, err
	}
	taken := map[string]string{}
	for _, key := range slices.Concat(code.DependencyJars, code.DependencyArtifacts) {
		if err := checkLocalName(key, nil); err != nil {
			return "", nil, fmt.Errorf("dependency in %s: %w", filepath.Join(dir, localstate.TopologyCode), err)
		}
		if _, ok := taken[key]; ok {
			continue
		}
		taken[key] = key
		dependencies = append(dependencies, userBlob{key: key, localName: key, restart: true})
	}
	if code.StormVersion != nil {
		version = *code.StormVersion
	}
	return version, dependencies, nil
}
