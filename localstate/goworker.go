// SPDX-License-Identifier: Apache-2.0

package localstate

// This file is what a supervisor tells a Go worker beyond its arguments. A Java worker is told by system properties and by
// the storm.yaml on its class path.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gust-stream/gust/config"
)

// GoWorker is what a supervisor tells a Go worker.
type GoWorker struct {
	// Conf is the supervisor's whole conf, Overrides included.
	Conf config.Conf
	// LocalDir and Artifacts are those of the Layout.
	LocalDir, Artifacts string
	// MemoryMB is the worker's share of memory, 0 if none was asked for.
	MemoryMB int64
}

// GoWorker is the file that holds a GoWorker.
func (l Layout) GoWorker(workerID string) string {
	return filepath.Join(l.Worker(workerID), GoWorkerFile)
}

// GoWorkerFile is its name.
const GoWorkerFile = "gust-worker.json"

// goWorkerFile is the file's content.
type goWorkerFile struct {
	Conf      json.RawMessage `json:"conf"`
	LocalDir  string          `json:"local_dir"`
	Artifacts string          `json:"artifacts"`
	MemoryMB  int64           `json:"memory_mb"`
}

// Write makes the file. It is not synced: a machine that fails takes the worker with it. It may hold passwords.
func (w GoWorker) Write(path string) error {
	conf, err := w.Conf.JSON()
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	text, err := json.Marshal(goWorkerFile{conf, w.LocalDir, w.Artifacts, w.MemoryMB})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// ReadGoWorker reads the file.
func ReadGoWorker(path string) (GoWorker, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return GoWorker{}, err
	}
	var file goWorkerFile
	if err := json.Unmarshal(text, &file); err != nil {
		return GoWorker{}, fmt.Errorf("read %s: %w", path, err)
	}
	conf, err := config.ParseJSON(file.Conf)
	if err != nil {
		return GoWorker{}, fmt.Errorf("read %s: %w", path, err)
	}
	return GoWorker{Conf: conf, LocalDir: file.LocalDir, Artifacts: file.Artifacts, MemoryMB: file.MemoryMB}, nil
}
