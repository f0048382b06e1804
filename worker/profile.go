// SPDX-License-Identifier: Apache-2.0

package worker

// This file answers the supervisor's requests for profiles.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

// profiler serves one worker's requests, one at a time.
type profiler struct {
	dir string
	log *zap.Logger
	cpu *os.File // the CPU profile that is being taken, or nil
}

// watchSignal makes the worker take SIGUSR1, which would end it otherwise; it is called before the supervisor can send one.
func watchSignal() (asked <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	return signals, func() { signal.Stop(signals) }
}

// run serves requests until ctx ends.
func (p *profiler) run(ctx context.Context, asked <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			if p.cpu != nil {
				pprof.StopCPUProfile()
				_ = p.cpu.Close() // nobody asked for it
			}
			return
		case <-asked:
		}
		requests, err := localstate.Profiles(p.dir)
		if err != nil {
			p.log.Warn("profile requests could not be read", zap.Error(err))
		}
		for path, request := range requests {
			fault := p.serve(request)
			if err := request.Finish(path, fault); err != nil {
				p.log.Warn("profile request could not be answered", zap.Error(err))
			}
		}
	}
}

func (p *profiler) serve(r localstate.Profile) error {
	switch r.Action {
	case storm.ProfileAction_JSTACK_DUMP.String():
		return writeProfile(r.File, "goroutine", 2)
	case storm.ProfileAction_JMAP_DUMP.String():
		return writeProfile(r.File, "heap", 0)
	case storm.ProfileAction_JPROFILE_START.String():
		return p.startCPU(r.File)
	case storm.ProfileAction_JPROFILE_STOP.String():
		return p.stopCPU(r.File)
	case storm.ProfileAction_JPROFILE_DUMP.String():
		if err := p.stopCPU(r.File); err != nil {
			return err
		}
		return p.startCPU(r.File)
	}
	return fmt.Errorf("action %s is not known", r.Action)
}

// startCPU begins a CPU profile beside the file that it will become. One that runs goes on.
func (p *profiler) startCPU(file string) error {
	if p.cpu != nil {
		return nil
	}
	f, err := os.OpenFile(file+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		_ = f.Close() // the fault found is the one to tell
		return err
	}
	p.cpu = f
	return nil
}

func (p *profiler) stopCPU(file string) error {
	if p.cpu == nil {
		return errors.New("no profile was started")
	}
	pprof.StopCPUProfile()
	part := p.cpu.Name()
	err := p.cpu.Close()
	p.cpu = nil
	if err != nil {
		return err
	}
	return os.Rename(part, file)
}

func writeProfile(file, profile string, form int) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = pprof.Lookup(profile).WriteTo(f, form)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
