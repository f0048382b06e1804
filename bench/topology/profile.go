// SPDX-License-Identifier: Apache-2.0

// This file takes a processor profile of the worker, for a look at where time goes.

package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/gust-stream/gust/multilang/component"
)

// profile takes one of bench.profile.secs seconds, in the middle of twice as many, if the conf asks for it. Of the tasks of a process
// the first takes it.
func profile(ctx *component.Context, path string) error {
	secs, _ := ctx.Conf["bench.profile.secs"].(int64)
	if secs <= 0 {
		return nil
	}
	length := time.Duration(secs) * time.Second
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("take a profile: %w", err)
	}
	// The timers end with the process; a profile that is cut off is of no use to anyone.
	time.AfterFunc(length/2, func() {
		if pprof.StartCPUProfile(file) != nil {
			_ = file.Close()
			return // another task takes it
		}
		time.AfterFunc(length, func() {
			pprof.StopCPUProfile()
			_ = file.Close()
		})
	})
	return nil
}
