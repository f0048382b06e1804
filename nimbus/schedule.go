// SPDX-License-Identifier: Apache-2.0

// The owner: one goroutine that schedules when something happened, and at the latest after nimbus.monitor.freq.secs.

package nimbus

import (
	"context"
	"time"

	"go.uber.org/zap"
)

const (
	// retryPause is the wait before something that failed is tried again.
	retryPause = time.Second
	// ticksPerDetection says how often the silences are looked at within the detection timeout.
	ticksPerDetection = 20
	// longestRest bounds the rest between two passes; see rest.
	longestRest = 100 * time.Millisecond
)

// own is the loop of the owner goroutine. Everything that moves executors happens here.
func (n *Nimbus) own(ctx context.Context) error {
	every := max(n.cfg.Detection/ticksPerDetection, time.Millisecond)
	look := time.NewTicker(every)
	defer look.Stop()
	monitor := time.NewTicker(max(n.cfg.MonitorEvery, time.Second))
	defer monitor.Stop()
	delay := time.NewTimer(time.Hour)
	defer delay.Stop()
	n.owner.lastTick = n.now()
	for {
		if wait, ok := n.nextDue(); ok {
			delay.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.wake:
		case <-delay.C:
		case <-look.C:
			n.look(every)
		case <-monitor.C:
			n.monitor(ctx)
		}
		if !n.Ready() {
			continue
		}
		n.runDue(ctx)
		if !n.now().Before(n.owner.restUntil) && n.needPass.Swap(false) {
			n.passAndRetry(ctx)
		}
	}
}

// nextDue is the time until something waits for the owner that no event tells of: a delayed event, or a pass after a rest.
func (n *Nimbus) nextDue() (wait time.Duration, ok bool) {
	if !n.Ready() {
		return 0, false // becoming ready wakes the owner
	}
	now := n.now()
	wait, ok = n.delays.next(now)
	if n.needPass.Load() {
		rest := max(0, n.owner.restUntil.Sub(now))
		if !ok || rest < wait {
			wait, ok = rest, true
		}
	}
	return wait, ok
}

// monitor is the slow round: it reads the supervisors again and schedules.
func (n *Nimbus) monitor(ctx context.Context) {
	if !n.Ready() {
		return
	}
	if err := n.readSupervisors(ctx); err != nil && ctx.Err() == nil {
		n.log.Warn("supervisors not read", zap.Error(err))
	}
	used := usedPorts(n.model.all())
	supervisors := n.model.supervisorsNow()
	n.live.forgetSupervisors(func(node string) bool { return supervisors[node] != nil || used[node] != nil })
	n.needPass.Store(true)
}

// look finds out whether somebody fell silent. A round that comes late means that this process was held up and may have missed
// heartbeats, so all silences start anew.
func (n *Nimbus) look(every time.Duration) {
	now := n.now()
	if late := now.Sub(n.owner.lastTick); late > every+n.cfg.Detection/2 {
		n.log.Warn("this process was held up, silence is not held against supervisors", zap.Duration("for", late))
		n.live.forgive(now)
	}
	n.owner.lastTick = now
	if !n.Ready() {
		return
	}
	j := n.judgeNow(now)
	n.suspect(j.suspects)
	if !j.same(n.owner.judged) {
		for node := range j.lost {
			if !n.owner.judged.lost[node] {
				n.log.Warn("supervisor lost", zap.String("node", node))
			}
		}
		n.needPass.Store(true)
	}
}

func (n *Nimbus) judgeNow(now time.Time) judgement {
	supervisors := n.model.supervisorsNow()
	present := func(node string) bool { return supervisors[node] != nil }
	l := limits{detection: n.cfg.Detection, task: n.cfg.TaskTimeout, launch: n.cfg.LaunchTimeout, recovery: n.cfg.RecoveryTimeout}
	return judge(n.model.all(), present, n.live, l, now)
}

// passAndRetry schedules; a pass that failed is made again shortly. After a pass the owner rests for as long as it took, so that a
// flood of submits, each of which calls for a pass over everything, leaves half of a processor to the submits themselves.
func (n *Nimbus) passAndRetry(ctx context.Context) {
	n.changing.Lock()
	began := n.now()
	err := n.pass(ctx, "")
	ended := n.now()
	n.owner.restUntil = ended.Add(min(ended.Sub(began), longestRest))
	n.changing.Unlock()
	if err != nil && ctx.Err() == nil {
		n.log.Error("scheduling failed, tried again", zap.Error(err))
		time.AfterFunc(retryPause, n.schedule)
	}
}
