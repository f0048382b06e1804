// SPDX-License-Identifier: Apache-2.0

// This file writes down what a keeper has, so that its journal can be cut, and removes files that nothing names.

package peer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/stateapi"
)

const (
	checkpointFile = "checkpoint.json"
	basePrefix     = "base-"
)

// checkpoint is the file: all copies as of a position of the journal.
type checkpoint struct {
	Version  int
	From     uint64 // the journal is played from here
	BaseFile uint64
	Tasks    []savedTask
}

type savedTask struct {
	Task   stateapi.Definition
	Shards map[int]heldShard
}

// loadCheckpoint reads the file and returns where the journal goes on.
func (k *Keeper) loadCheckpoint() (from uint64, err error) {
	path := filepath.Join(k.dir, checkpointFile)
	data, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	var c checkpoint
	if err := json.Unmarshal(data, &c); err != nil {
		return 0, fmt.Errorf("read %s: %w: %w", path, stateapi.ErrCorrupt, err)
	}
	if c.Version != version {
		return 0, fmt.Errorf("%s has layout version %d, this is %d: remove %s, its copies are made again", path, c.Version, version, k.dir)
	}
	k.baseFile, k.saved = c.BaseFile, c.From
	for _, saved := range c.Tasks {
		t := &heldTask{def: saved.Task, shards: map[int]*heldShard{}}
		for i, s := range saved.Shards {
			t.shards[i] = &s
		}
		k.tasks[saved.Task.Name] = t
	}
	return c.From, nil
}

// saveCheckpoint writes the file and cuts the journal to what it still needs.
func (k *Keeper) saveCheckpoint() error {
	k.mu.Lock()
	c := checkpoint{Version: version, From: k.journal.End(), BaseFile: k.baseFile}
	keep := c.From
	for _, t := range k.tasks {
		saved := savedTask{Task: t.def, Shards: map[int]heldShard{}}
		for i, s := range t.shards {
			saved.Shards[i] = *s
			keep = min(keep, s.oldest(keep))
		}
		c.Tasks = append(c.Tasks, saved)
	}
	data, err := json.Marshal(c)
	k.mu.Unlock()
	if err != nil {
		return fmt.Errorf("write down copies: %w", err)
	}
	if err := writeDurably(filepath.Join(k.dir, checkpointFile), data); err != nil {
		return fmt.Errorf("write down copies: %w", err)
	}
	k.mu.Lock()
	k.saved = c.From
	k.mu.Unlock()
	k.using.Lock()
	defer k.using.Unlock()
	return k.journal.Truncate(keep)
}

// oldest is the position of the oldest part that a shard needs, or none.
func (s *heldShard) oldest(none uint64) uint64 {
	if len(s.Tail) > 0 {
		none = min(none, s.Tail[0].Position)
	}
	if s.Part.Size > 0 {
		none = min(none, s.Part.Position)
	}
	return none
}

// sweep removes base files that no shard names, and marks shards whose file is missing as incomplete.
func (k *Keeper) sweep() error {
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		return fmt.Errorf("open copies: %w", err)
	}
	there := map[string]bool{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), basePrefix) {
			there[e.Name()] = true
		}
	}
	for name, t := range k.tasks {
		for i, s := range t.shards {
			if s.Base != "" && !there[s.Base] {
				k.log.Error("a file of a copy is missing, its owner has to send it again", zap.String("file", s.Base), zap.Int("shard", i), zap.Any("state", name))
				s.Complete = false
			}
			delete(there, s.Base)
		}
	}
	for name := range there {
		k.unnamed = append(k.unnamed, name)
	}
	k.removeUnnamed()
	return nil
}

// unname has Run remove a base file that no shard names any more. The caller does not hold mu.
func (k *Keeper) unname(name string) {
	if name == "" {
		return
	}
	k.mu.Lock()
	k.unnamed = append(k.unnamed, name)
	k.mu.Unlock()
	k.tidy()
}

// removeUnnamed deletes those files. One that stays is found by the next start.
func (k *Keeper) removeUnnamed() {
	k.mu.Lock()
	names := k.unnamed
	k.unnamed = nil
	k.mu.Unlock()
	if len(names) == 0 {
		return
	}
	k.using.Lock()
	defer k.using.Unlock()
	for _, name := range names {
		if err := os.Remove(filepath.Join(k.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			k.log.Warn("file of a copy is not removed", zap.Error(err))
		}
	}
}

// newBase opens a new base file. The numbers of files that were never named may come again after a start, when sweep has removed them.
func (k *Keeper) newBase() (*os.File, error) {
	k.mu.Lock()
	k.baseFile++
	name := fmt.Sprintf("%s%016x", basePrefix, k.baseFile)
	k.mu.Unlock()
	return os.OpenFile(filepath.Join(k.dir, name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}

// writeDurably puts data in a file's place.
func writeDurably(path string, data []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return regular.SyncDir(filepath.Dir(path))
}
