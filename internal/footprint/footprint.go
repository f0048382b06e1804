// SPDX-License-Identifier: Apache-2.0

// This file finds the program's own mappings and lets go of them.

package footprint

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Shrink gives back what it can. An error means that the program file's pages stay mapped, which harms nobody.
func Shrink() error {
	debug.FreeOSMemory()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find the program file: %w", err)
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("list mappings: %w", err)
	}
	defer func() { _ = maps.Close() }()
	ranges, err := unchanged(maps, program)
	if err != nil {
		return fmt.Errorf("list mappings: %w", err)
	}
	for _, r := range ranges {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, r.start, r.end-r.start, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("let go of %x-%x: %w", r.start, r.end, errno)
		}
	}
	return nil
}

type span struct{ start, end uintptr }

// unchanged lists the mappings of a file that can not be written to: their pages are the file's.
func unchanged(maps io.Reader, file string) ([]span, error) {
	var out []span
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || strings.Join(fields[5:], " ") != file || strings.Contains(fields[1], "w") {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err := strconv.ParseUint(from, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", lines.Text(), err)
		}
		end, err := strconv.ParseUint(to, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", lines.Text(), err)
		}
		out = append(out, span{uintptr(start), uintptr(end)})
	}
	return out, lines.Err()
}
