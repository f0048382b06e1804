// SPDX-License-Identifier: Apache-2.0

// This file makes small disks and fills them.

package site

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// MountDisk mounts a file system of so many bytes ("24m") on a folder. The caller
// unmounts it, after everything that has files open there has ended.
func MountDisk(dir, size string) (unmount func() error, err error) {
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "gust-test", dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mount a tmpfs (tests of full disks need the right to; run them as root): %w: %s", err, out)
	}
	return func() error {
		// Lazily: whatever is left open must not keep the machine from being tidy.
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			return fmt.Errorf("unmount %s: %w: %s", dir, err, out)
		}
		return nil
	}, nil
}

// Fill takes up all space of a folder's file system, to the last byte, and gives
// the file that holds it.
func Fill(dir string) (string, error) {
	file, err := os.CreateTemp(dir, "filler")
	if err != nil {
		return "", fmt.Errorf("fill a disk: %w", err)
	}
	block := make([]byte, 1<<20)
	for size := len(block); size > 0; {
		if _, err = file.Write(block[:size]); err != nil {
			size /= 2 // no room for this much
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return file.Name(), errors.Join(fmt.Errorf("fill a disk: %w", err), file.Close())
	}
	return file.Name(), file.Close()
}
