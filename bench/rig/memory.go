// SPDX-License-Identifier: Apache-2.0

// This file reads how much memory processes take.

package rig

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PSS sums the proportional set sizes of processes, in bytes.
func PSS(pids []int) (int64, error) {
	var sum int64
	for _, pid := range pids {
		path := fmt.Sprintf("/proc/%d/smaps_rollup", pid)
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, fmt.Errorf("read memory of process %d: %w", pid, err)
		}
		kib, err := field(string(text), "Pss:")
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", path, err)
		}
		sum += kib << 10
	}
	return sum, nil
}

// field is the number after a name in a file of /proc.
func field(text, name string) (int64, error) {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == name {
			return strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("no line %s", name)
}
