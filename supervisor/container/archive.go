// SPDX-License-Identifier: Apache-2.0

package container

// This file finds and makes class-data archives.

import (
	"context"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/supervisor/localstate"
)

// Archive is a class-data archive that a JVM maps instead of reading and checking Storm's classes.
type Archive struct {
	// File is the archive.
	File string
	// Jars are the jars that it was made over, in the order in which they must begin the worker's class path.
	Jars []string
}

// archives makes archives in the background.
type archives struct {
	layout  localstate.Layout
	environ []string
	log     *zap.Logger
}

func newArchives(layout localstate.Layout, environ []string, log *zap.Logger) *archives {
	return &archives{layout: layout, environ: environ, log: log}
}

// find returns the archive for a host's Storm home and JDK if it is ready, and else sees to it that it is made.
func (a *archives) find(Host) *Archive { return nil }

// run makes archives as they are asked for, until ctx ends.
func (a *archives) run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
