// SPDX-License-Identifier: Apache-2.0

package container

// This file lays out a worker's folder and marks the slot as its own before the worker starts.

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
)

// setUp makes the worker's folder, its artifacts folder, the notes beside them, and the links.
func setUp(layout localstate.Layout, cmd Command) error {
	if err := takeSlot(layout, cmd); err != nil {
		return err
	}
	return makeFolder(layout, cmd, layout.WorkerArtifacts(cmd.Topology.ID, cmd.Port))
}

// takeSlot makes what belongs to a worker only when it is the slot's one.
func takeSlot(layout localstate.Layout, cmd Command) error {
	id := cmd.WorkerID
	artifacts := layout.WorkerArtifacts(cmd.Topology.ID, cmd.Port)
	for _, dir := range []string{layout.WorkerPids(id), layout.WorkerHeartbeats(id), layout.WorkerUsers(), artifacts} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	notes, err := logMetadata(cmd)
	if err != nil {
		return err
	}
	if err := localstate.WriteFile(filepath.Join(artifacts, "worker.yaml"), notes, 0o644); err != nil {
		return err
	}
	// The worker writes this file when it is up; until then it would name the process of the slot's last worker.
	if err := os.Remove(filepath.Join(artifacts, "worker.pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return localstate.WriteFile(layout.WorkerUser(id), []byte(cmd.Topology.Owner), 0o644)
}

// makeFolder makes what a process finds in its working directory.
func makeFolder(layout localstate.Layout, cmd Command, artifacts string) error {
	id := cmd.WorkerID
	if err := os.MkdirAll(layout.WorkerTmp(id), 0o755); err != nil {
		return err
	}
	links := map[string]string{"artifacts": artifacts}
	for _, name := range append([]string{localstate.Resources}, cmd.Topology.Links...) {
		if err := localstate.CheckName("link", name); err != nil {
			return err
		}
		links[name] = filepath.Join(cmd.Topology.Dir, name)
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(layout.Worker(id), name)); err != nil {
			return err
		}
	}
	return nil
}

// logMetadata is the content of worker.yaml, by which the log viewer decides who may read a worker's logs.
func logMetadata(cmd Command) ([]byte, error) {
	conf := cmd.Topology.Conf
	data := map[string]any{
		"worker-id":                  cmd.WorkerID,
		config.TopologySubmitterUser: cmd.Topology.Owner,
		config.LogsUsers:             union(conf, config.LogsUsers, config.TopologyUsers),
		config.LogsGroups:            union(conf, config.LogsGroups, config.TopologyGroups),
	}
	if timeout := conf.Int(config.TopologyWorkerTimeoutSecs, 0); timeout > 0 {
		data[config.TopologyWorkerTimeoutSecs] = max(timeout, cmd.Host.Conf.Int(config.SupervisorWorkerTimeoutSecs, 30))
	}
	text, err := yaml.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("worker.yaml: %w", err)
	}
	return text, nil
}

// union gathers the names under several keys, sorted and once each. Unset users appear as null in a topology's conf.
func union(conf config.Conf, keys ...string) []string {
	names := []string{}
	for _, key := range keys {
		switch value := conf[key].(type) {
		case string:
			names = append(names, value)
		case []any:
			for _, element := range value {
				if element != nil {
					names = append(names, fmt.Sprint(element))
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// useConfDirCopy gives workers that do not take task.refresh.poll.secs as an option (Storm before 2.6) a folder that is like
// the user's conf folder but for a storm.yaml with that key. Storm allows one storm.yaml on a class path, so adding a folder
// would not do.
func useConfDirCopy(layout localstate.Layout, host *Host) error {
	if host.TaskRefreshSecs <= 0 || refreshByOption(host.StormVersion) {
		return nil
	}
	dir, err := confDirCopy(layout, host.ConfDir, config.TaskRefreshPollSecs+": "+strconv.Itoa(host.TaskRefreshSecs)+"\n")
	if err != nil {
		return fmt.Errorf("copy %s for workers: %w", host.ConfDir, err)
	}
	host.ConfDir = dir
	return nil
}

func confDirCopy(layout localstate.Layout, from, line string) (string, error) {
	to := filepath.Join(layout.Supervisor(), "worker-conf")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return "", err
	}
	const stormYAML = "storm.yaml"
	for _, entry := range entries {
		if entry.Name() == stormYAML {
			continue
		}
		err := os.Symlink(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name()))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	text, err := os.ReadFile(filepath.Join(from, stormYAML))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	text, err = withLine(text, line)
	if err != nil {
		return "", fmt.Errorf("%s: %w", stormYAML, err)
	}
	// It may hold passwords, as the user's own file.
	return to, localstate.WriteFile(filepath.Join(to, stormYAML), text, 0o600)
}

// withLine adds a line to a YAML mapping, keeping the user's text as it is where that gives a mapping again.
func withLine(text []byte, line string) ([]byte, error) {
	var before, after map[string]any
	if err := yaml.Unmarshal(text, &before); err != nil {
		return nil, err
	}
	added := append(append(slices.Clone(text), '\n'), line...)
	if err := yaml.Unmarshal(added, &after); err == nil && len(after) == len(before)+1 {
		return added, nil
	}
	var extra map[string]any
	if err := yaml.Unmarshal([]byte(line), &extra); err != nil {
		return nil, err
	}
	if before == nil {
		before = map[string]any{}
	}
	maps.Copy(before, extra)
	return yaml.Marshal(before)
}
