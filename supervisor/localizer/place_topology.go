// SPDX-License-Identifier: Apache-2.0

package localizer

// This file lays out the three blobs of a topology: <name> beside <name>.version, and for the jar its resources folder.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/localstate"
)

type topologyPlace struct {
	dir    string // the topology's folder
	name   string
	tmp    string
	limits limits
}

func newTopologyPlace(cfg Config, topologyID, name string) *topologyPlace {
	return &topologyPlace{
		dir: cfg.Layout.Topology(topologyID), name: name, tmp: cfg.Layout.Tmp(),
		limits: limits{bytes: cfg.MaxUnpackedBytes, entries: cfg.MaxUnpackedEntries},
	}
}

func (p *topologyPlace) id() string { return filepath.Join(p.dir, p.name) }

func (p *topologyPlace) versionFile() string { return p.id() + localstate.VersionSuffix }

func (p *topologyPlace) resources() string { return filepath.Join(p.dir, localstate.Resources) }

func (p *topologyPlace) version() (int64, bool) {
	version, ok := readVersionFile(p.versionFile())
	ok = ok && exists(p.id())
	if p.name == localstate.TopologyJar {
		ok = ok && exists(p.resources())
	}
	return version, ok
}

func (p *topologyPlace) stage(s *staged) error {
	if p.name != localstate.TopologyJar {
		return nil
	}
	s.dir = localstate.TempName(p.tmp, "resources")
	return unpackResources(s.file, s.dir, p.limits)
}

// commit takes the version file away first and writes it last, so that a crash in between is seen as "not there".
func (p *topologyPlace) commit(s *staged) error {
	if err := os.MkdirAll(p.dir, 0o750); err != nil {
		return err
	}
	if err := os.Remove(p.versionFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.dir != "" {
		if err := replaceDir(p.tmp, s.dir, p.resources()); err != nil {
			return err
		}
		s.dir = ""
	}
	// The conf holds the topology's ZooKeeper password; code may hold whatever its author put into it.
	mode := fs.FileMode(0o600)
	if p.name == localstate.TopologyJar {
		mode = 0o640
	}
	if err := os.Chmod(s.file, mode); err != nil {
		return err
	}
	if err := os.Rename(s.file, p.id()); err != nil {
		return err
	}
	s.file = ""
	if err := regular.SyncDir(p.dir); err != nil {
		return err
	}
	return localstate.WriteFile(p.versionFile(), strconv.AppendInt(nil, s.version, 10), 0o640)
}

// replaceDir puts the folder from in the place of to. The old folder is moved away first, as folders cannot be replaced.
func replaceDir(tmp, from, to string) error {
	old := localstate.TempName(tmp, "old")
	err := os.Rename(to, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	moved := err == nil
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if moved {
		return os.RemoveAll(old)
	}
	return nil
}

// readVersionFile reads a decimal version with or without a line end, as Storm writes one of each. A broken file is like none.
func readVersionFile(path string) (int64, bool) {
	info, err := os.Stat(path)
	if err != nil || info.Size() > 64 {
		return 0, false
	}
	text, err := regular.ReadFile(path)
	if err != nil {
		return 0, false
	}
	version, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return version, err == nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// replaceLink makes path a symbolic link to target, in one step. Anything but a link at path is an error.
func replaceLink(tmp, target, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink == 0:
		return fmt.Errorf("link to %s: %s exists and is not a link", target, path)
	default:
		if now, err := os.Readlink(path); err == nil && now == target {
			return nil
		}
	}
	link := localstate.TempName(tmp, "link")
	if err := os.Symlink(target, link); err != nil {
		return err
	}
	if err := os.Rename(link, path); err != nil {
		_ = os.Remove(link)
		return err
	}
	return nil
}
