// SPDX-License-Identifier: Apache-2.0

package localizer

// This file removes what a crash left unfinished and what nobody uses.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/localstate"
)

// recover removes what an earlier process left unfinished, once, before anything else touches the disk.
func (l *Localizer) recover() error {
	l.recoverOnce.Do(func() {
		if l.recoverErr = l.emptyTmp(); l.recoverErr != nil {
			l.recoverErr = fmt.Errorf("remove unfinished downloads: %w", l.recoverErr)
		}
	})
	return l.recoverErr
}

// emptyTmp empties the tmp folder and removes temporary files in the owners' folders, and what stock's own localizer leaves
// unfinished beside a topology's blobs. A topology whose version file is missing is made complete by the next Localize, or
// removed by clean.
func (l *Localizer) emptyTmp() error {
	layout := l.cfg.Layout
	if err := os.RemoveAll(layout.Tmp()); err != nil {
		return err
	}
	for _, dir := range []string{layout.Tmp(), layout.Topologies(), layout.Users()} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return err
		}
	}
	temporary := localstate.TempPrefix + "*"
	patterns := []string{filepath.Join(layout.UserFiles("*"), temporary), filepath.Join(layout.UserArchives("*"), temporary)}
	for _, name := range []string{localstate.TopologyJar, localstate.TopologyCode, localstate.TopologyConf, localstate.Resources} {
		patterns = append(patterns, filepath.Join(layout.Topologies(), "*", name+".[0-9]*"))
	}
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// unused is something on disk that no slot holds.
type unused struct {
	id       string   // what held is asked with
	topology string   // the topology's id, or ""
	paths    []string // what to remove
	key      string   // the blob whose existence decides
	size     int64
	used     time.Time
}

// clean removes unused blobs that Nimbus does not have, then the least recently used ones above the cache's size, and old
// versions of blobs in use.
func (l *Localizer) clean(ctx context.Context) {
	candidates, total := l.unusedTopologies()
	blobs, size := l.unusedBlobs()
	candidates, total = append(candidates, blobs...), total+size
	slices.SortFunc(candidates, func(a, b unused) int { return a.used.Compare(b.used) })
	for _, c := range candidates {
		if total <= l.cfg.CacheBytes {
			_, err := l.nimbus.BlobVersion(ctx, c.key)
			if !errors.Is(err, ErrNotFound) {
				continue
			}
		}
		if l.remove(c) {
			total -= c.size
		}
	}
}

// makeRoom removes everything unused, for the disk is full.
func (l *Localizer) makeRoom() {
	topologies, _ := l.unusedTopologies()
	blobs, _ := l.unusedBlobs()
	for _, c := range append(topologies, blobs...) {
		l.remove(c)
	}
}

// remove moves the candidate's files out of the way, unless somebody has come to hold them, and deletes them.
func (l *Localizer) remove(c unused) bool {
	l.mu.Lock()
	if (c.topology != "" && l.topologyHeld(c.topology)) || (c.topology == "" && l.held(c.id)) {
		l.mu.Unlock()
		return false
	}
	var moved []string
	for _, path := range c.paths {
		aside := localstate.TempName(l.cfg.Layout.Tmp(), "unused")
		if err := os.Rename(path, aside); err == nil {
			moved = append(moved, aside)
		}
	}
	l.mu.Unlock()
	for _, path := range moved {
		if err := os.RemoveAll(path); err != nil {
			l.log.Warn("removing an unused blob failed", zap.String("key", c.key), zap.Error(err))
		}
	}
	l.log.Info("unused blob removed", zap.String("key", c.key), zap.Int64("bytes", c.size))
	return len(moved) > 0
}

// unusedTopologies lists the topology folders that no slot holds; the size is that of all folders.
func (l *Localizer) unusedTopologies() (found []unused, total int64) {
	dir := l.cfg.Layout.Topologies()
	entries, err := os.ReadDir(dir)
	if err != nil {
		l.log.Warn("cleaning topologies failed", zap.Error(err))
	}
	for _, entry := range entries {
		id, path := entry.Name(), filepath.Join(dir, entry.Name())
		size, used := measure(path)
		total += size
		l.mu.Lock()
		held := l.topologyHeld(id)
		l.mu.Unlock()
		if !held {
			found = append(found, unused{
				topology: id, paths: []string{path}, key: id + "-" + localstate.TopologyConf, size: size, used: used,
			})
		}
	}
	return found, total
}

// unusedBlobs lists the owners' blobs that no slot holds, and removes versions that are no longer current.
func (l *Localizer) unusedBlobs() (found []unused, total int64) {
	layout := l.cfg.Layout
	owners, err := os.ReadDir(layout.Users())
	if err != nil {
		l.log.Warn("cleaning user blobs failed", zap.Error(err))
	}
	for _, owner := range owners {
		for _, unpack := range []bool{false, true} {
			dir := layout.UserFiles(owner.Name())
			if unpack {
				dir = layout.UserArchives(owner.Name())
			}
			for key, paths := range groupByKey(dir) {
				place := newUserPlace(layout, owner.Name(), key, unpack)
				candidate := unused{id: place.id(), key: key, paths: paths}
				for _, path := range paths {
					size, used := measure(path)
					candidate.size += size
					if used.After(candidate.used) {
						candidate.used = used
					}
				}
				total += candidate.size
				l.mu.Lock()
				b := l.blobs[place.id()]
				l.mu.Unlock()
				if b != nil {
					l.dropOldVersions(b, place, paths)
				} else {
					found = append(found, candidate)
				}
			}
		}
	}
	return found, total
}

// groupByKey reads a folder of blobs and gives for each key the paths that belong to it, the current link first.
func groupByKey(dir string) map[string][]string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // most owners have no archives
	}
	groups := map[string][]string{}
	for _, entry := range entries {
		dot := strings.LastIndexByte(entry.Name(), '.')
		if dot <= 0 || strings.HasPrefix(entry.Name(), localstate.TempPrefix) { // somebody writes it just now
			continue
		}
		key, path := entry.Name()[:dot], filepath.Join(dir, entry.Name())
		if strings.HasSuffix(entry.Name(), currentSuffix) {
			groups[key] = append([]string{path}, groups[key]...)
		} else {
			groups[key] = append(groups[key], path)
		}
	}
	return groups
}

// dropOldVersions removes versions that a worker may still have had open when they were replaced, one round later. While
// somebody changes the blob it does nothing: the new version is there before the link leads to it.
func (l *Localizer) dropOldVersions(b *blob, place *userPlace, paths []string) {
	if !b.tryAcquire() {
		return
	}
	defer b.release()
	link, err := os.Lstat(place.current())
	if err != nil || time.Since(link.ModTime()) < l.cfg.CheckEvery {
		return
	}
	target, err := os.Readlink(place.current())
	if err != nil {
		return
	}
	for _, path := range paths {
		if path == place.current() || path == place.versionFile() || filepath.Base(path) == filepath.Base(target) {
			continue
		}
		aside := localstate.TempName(l.cfg.Layout.Tmp(), "old")
		if err := os.Rename(path, aside); err == nil {
			_ = os.RemoveAll(aside) // what stays is removed at the next start
		}
	}
}

// measure gives the size of all files below path and the time of the newest change. What vanishes meanwhile counts nothing.
func measure(path string) (size int64, used time.Time) {
	_ = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // vanished or unreadable: it counts nothing
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		if info.Mode().IsRegular() {
			size += info.Size()
		}
		if info.ModTime().After(used) {
			used = info.ModTime()
		}
		return nil
	})
	return size, used
}
