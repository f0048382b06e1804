// SPDX-License-Identifier: Apache-2.0

// This file waits for the class-data archive that gust makes in the background.

package rig

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
)

// AwaitArchive waits until a class-data archive lies in the cluster's folder.
func (c *Cluster) AwaitArchive(ctx context.Context) error {
	return testbed.Await(ctx, "a class-data archive", 200*time.Millisecond, func() (bool, error) {
		found := false
		err := filepath.WalkDir(c.dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".jsa" {
				found = true
				return fs.SkipAll
			}
			return nil // a folder that went away meanwhile is no fault
		})
		return found, err
	})
}
