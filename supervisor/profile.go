// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file serves profile requests: thread dumps, heap dumps, flight recordings and restarts of single workers.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/supervisor/slot"
	"github.com/gust-stream/gust/thrift/storm"
)

const (
	// profileTimeout bounds one command; a heap dump takes a while.
	profileTimeout = 10 * time.Minute
	// profileTries is how often a command that goes wrong is tried before its request is dropped.
	profileTries = 5
)

// followProfiles looks for requests of the topologies that run here.
func (s *Supervisor) followProfiles(ctx context.Context) error {
	ticker := time.NewTicker(s.cfg.ProfileEvery)
	defer ticker.Stop()
	trouble := newTrouble(s.log, "profile requests cannot be read", "profile requests can be read again")
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		looking, cancel := context.WithTimeout(ctx, nimbusCallTimeout)
		err := s.lookForProfiles(looking)
		cancel()
		if ctx.Err() == nil {
			trouble.report(err)
		}
	}
}

func (s *Supervisor) lookForProfiles(ctx context.Context) error {
	var faults []error
	for _, topologyID := range s.board.topologies() {
		requests, err := s.state.ProfileRequests(ctx, topologyID)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for _, request := range requests {
			s.passProfile(topologyID, request)
		}
	}
	return errors.Join(faults...)
}

// passProfile hands a request to its port, if that is one of ours. Requests name the host, and a host may have several
// supervisors.
func (s *Supervisor) passProfile(topologyID string, request *storm.ProfileRequest) {
	if request.NodeInfo == nil || request.NodeInfo.Node != s.cfg.Hostname {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, number := range request.NodeInfo.Port {
		if p := s.ports[int(number)]; p != nil {
			p.post(func() slot.Event { return p.profile(s.state, topologyID, request) })
		}
	}
}

// profile is one request on its way through a port. It belongs to the port's goroutine.
type profile struct {
	busy    bool // a command runs
	begun   bool // the recording that it will stop was started
	tries   int
	dropped bool // it only has to be struck off
}

// profile serves a request as far as it can be now; it comes again until it is struck off.
func (p *port) profile(state ClusterState, topologyID string, request *storm.ProfileRequest) slot.Event {
	key := fmt.Sprint(topologyID, request.Action, request.GetTimeStamp())
	do := p.profiles[key]
	if do == nil {
		do = &profile{}
		p.profiles[key] = do
	}
	if do.busy {
		return nil
	}
	do.busy = true
	w := p.alive[p.machine.Worker()]
	strike := func(event slot.Event) {
		p.jobs.run(func(ctx context.Context) {
			err := state.RemoveProfileRequest(ctx, topologyID, request)
			p.post(func() slot.Event {
				if err != nil {
					p.log.Warn("profile request could not be struck off, will try again", zap.String("topology_id", topologyID), zap.Error(err))
					do.busy = false
					return nil
				}
				delete(p.profiles, key)
				return event
			})
		})
	}
	if do.dropped || w == nil || w.topologyID != topologyID || p.machine.State() != slot.Running {
		strike(nil)
		return nil
	}
	if request.Action == storm.ProfileAction_JVM_RESTART {
		strike(slot.Restart{Seq: w.seq, Reason: "restart was asked for by a profile request"})
		return nil
	}
	p.runProfile(do, w, request, func() { strike(nil) })
	return nil
}

// runProfile runs the command that is due. A recording that shall stop at a later time is started now.
func (p *port) runProfile(do *profile, w *running, request *storm.ProfileRequest, done func()) {
	action, last := request.Action, true
	if action == storm.ProfileAction_JPROFILE_STOP && time.Now().UnixMilli() < request.GetTimeStamp() {
		if do.begun {
			do.busy = false
			return
		}
		action, last = storm.ProfileAction_JPROFILE_START, false
	}
	p.jobs.run(func(ctx context.Context) {
		err := p.profiler(w)(ctx, action)
		p.post(func() slot.Event {
			logger := p.log.With(zap.String("worker_id", w.id), zap.String("topology_id", w.topologyID), zap.Stringer("action", request.Action))
			do.busy = false
			switch {
			case err == nil && last:
				logger.Info("profile request served")
				done()
			case err == nil:
				do.begun = true
			default:
				do.tries++
				do.dropped = do.tries >= profileTries
				logger.Warn("profile request went wrong", zap.Int("try", do.tries), zap.Bool("dropped", do.dropped), zap.Error(err))
			}
			return nil
		})
	})
}

func (p *port) profiler(w *running) func(context.Context, storm.ProfileAction) error {
	artifacts := p.cfg.Layout.WorkerArtifacts(w.topologyID, p.number)
	if w.process.IsGo() {
		return goProfiler{
			signal: func() error { return w.process.Signal(syscall.SIGUSR1) }, pid: w.process.Pid(),
			worker: p.cfg.Layout.Worker(w.id), results: artifacts,
		}.run
	}
	return profiler{
		script: filepath.Join(p.cfg.StormHome, "bin", p.cfg.Conf.String(config.WorkerProfilerCommand, "flight.bash")),
		java:   p.cfg.JavaHome, pid: w.process.Pid(), dir: artifacts,
	}.run
}

// profiler runs commands on one JVM.
type profiler struct {
	script string // Storm's, used if it is there
	java   string // JDK folder, or ""
	pid    int
	dir    string // where dumps go
}

func (r profiler) run(ctx context.Context, action storm.ProfileAction) error {
	ctx, cancel := context.WithTimeout(ctx, profileTimeout)
	defer cancel()
	pid := strconv.Itoa(r.pid)
	if info, err := os.Stat(r.script); err == nil && !info.IsDir() {
		_, err := output(ctx, r.script, append([]string{pid}, r.scriptArgs(action)...)...)
		return err
	}
	jcmd := "jcmd"
	if r.java != "" {
		jcmd = filepath.Join(r.java, "bin", jcmd)
	}
	name := pid + "-" + time.Now().Format("20060102-150405")
	recording := filepath.Join(r.dir, "recording-"+name+".jfr")
	var args []string
	switch action {
	case storm.ProfileAction_JPROFILE_START:
		args = []string{"JFR.start", "name=gust", "settings=profile"}
	case storm.ProfileAction_JPROFILE_STOP:
		args = []string{"JFR.stop", "name=gust", "filename=" + recording}
	case storm.ProfileAction_JPROFILE_DUMP:
		args = []string{"JFR.dump", "name=gust", "filename=" + recording}
	case storm.ProfileAction_JMAP_DUMP:
		args = []string{"GC.heap_dump", filepath.Join(r.dir, "recording-"+name+".bin")}
	case storm.ProfileAction_JSTACK_DUMP:
		args = []string{"Thread.print"}
	default:
		return fmt.Errorf("action %s is not known", action)
	}
	text, err := output(ctx, jcmd, append([]string{pid}, args...)...)
	if err != nil || action != storm.ProfileAction_JSTACK_DUMP {
		return err
	}
	return localstate.WriteFile(filepath.Join(r.dir, "jstack-"+name+".txt"), text, 0o644)
}

func (r profiler) scriptArgs(action storm.ProfileAction) []string {
	switch action {
	case storm.ProfileAction_JPROFILE_START:
		return []string{"start", r.dir}
	case storm.ProfileAction_JPROFILE_STOP:
		return []string{"stop", r.dir}
	case storm.ProfileAction_JPROFILE_DUMP:
		return []string{"dump", r.dir}
	case storm.ProfileAction_JMAP_DUMP:
		return []string{"jmap", r.dir}
	case storm.ProfileAction_JSTACK_DUMP:
		return []string{"jstack", r.dir}
	default:
		return nil
	}
}

// output runs a command and gives what it printed; if it went wrong, the end of that is in the error.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	if err != nil {
		const shown = 500
		tail := strings.TrimSpace(string(text))
		return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, tail[max(0, len(tail)-shown):])
	}
	return text, nil
}
