// SPDX-License-Identifier: Apache-2.0

package localstate

// This file reads the process ids that a worker leaves on disk.

import (
	"fmt"
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
