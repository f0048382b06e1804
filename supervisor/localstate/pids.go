// SPDX-License-Identifier: Apache-2.0

package localstate

// This file reads the process ids that a worker leaves on disk.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
)

// Pids lists the pids in a worker's pids folder, ascending; other names are passed over. A folder that does not exist has
// none. A pid on disk proves nothing: the process may be gone and its number in use by another.
func Pids(dir string) ([]int, error) {
	names, err := readNames(dir)
	if err != nil {
		return nil, fmt.Errorf("read pids: %w", err)
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// ReadPid reads a file that holds one pid in decimal, such as the worker.pid in a slot's artifacts folder, or 0 if there
// is no such file.
func ReadPid(path string) (int, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read pid: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, 64))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return 0, fmt.Errorf("read pid: %w", err)
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("read pid: %s holds %q", path, text)
	}
	return pid, nil
}
