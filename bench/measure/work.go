// SPDX-License-Identifier: Apache-2.0

// This file takes the samples of a load that runs.

package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gust-stream/gust/internal/testbed"

	"github.com/gust-stream/gust/bench/rig"
)

// measure takes what the load is for.
func (w *work) measure(ctx context.Context) error {
	switch w.load.name {
	case "idle":
		return w.idle(ctx)
	case "memory":
		return w.memory()
	}
	from := time.Now()
	before, err := rig.CPU(w.pids...)
	if err != nil {
		return err
	}
	if err := pause(ctx, span); err != nil {
		return err
	}
	to := time.Now()
	after, err := rig.CPU(w.pids...)
	if err != nil {
		return err
	}
	ledgers, err := w.Ledgers(w.name, w.load.counted)
	if err != nil {
		return err
	}
	if err := w.alive(ledgers); err != nil {
		return err
	}
	l, cores := ledgers[0], (after-before).Seconds()/to.Sub(from).Seconds()
	rate, err := l.Rate(from, to)
	if err != nil {
		return err
	}
	w.Say("run %d: %s: %s: %.0f tuples a second, %.2f cores used by the workers, %d tuples failed",
		w.rep+1, w.Kind, w.load.name, rate, cores, l.Failed)
	side := string(w.Kind)
	switch w.load.name {
	case "latency-one", "latency-two":
		return w.latency(l, from, to)
	case "unacked":
		w.Samples.Add(unacked+side, rate/cores)
	default:
		w.Samples.Add(w.load.name+" "+side, rate)
	}
	return nil
}

// alive says what is wrong if a worker was started again meanwhile.
func (w *work) alive(ledgers []rig.Ledger) error {
	for _, l := range ledgers {
		if !slices.Contains(w.pids, l.PID) {
			return fmt.Errorf("the worker was started again, as process %d", l.PID)
		}
	}
	return nil
}

func (w *work) latency(l rig.Ledger, from, to time.Time) error {
	took := l.TookIn(from, to)
	if len(took) == 0 {
		return fmt.Errorf("%s has no times", l.File)
	}
	slices.Sort(took)
	at := func(percent int) time.Duration { return took[(len(took)-1)*percent/100] }
	w.Samples.AddTime(w.load.name+"-p50 "+string(w.Kind), at(50))
	w.Samples.AddTime(w.load.name+"-p99 "+string(w.Kind), at(99))
	w.Say("run %d: %s: %s: complete latency p50 %s, p99 %s, most %s", w.rep+1, w.Kind, w.load.name, at(50), at(99), took[len(took)-1])
	return nil
}

func (w *work) idle(ctx context.Context) error {
	before, err := rig.CPU(w.pids...)
	if err != nil {
		return err
	}
	from := time.Now()
	if err := pause(ctx, idleSpan); err != nil {
		return err
	}
	after, err := rig.CPU(w.pids...)
	if err != nil {
		return err
	}
	cores := (after - before).Seconds() / time.Since(from).Seconds()
	w.Samples.Add(idleCPU+string(w.Kind), cores)
	w.Say("run %d: %s: an idle worker uses %.2f %% of a core", w.rep+1, w.Kind, cores*100)
	return nil
}

func (w *work) memory() error {
	pss, err := testbed.PSS(w.pids...)
	if err != nil {
		return err
	}
	w.Samples.Add(workerMemory+string(w.Kind), float64(pss))
	w.Say("run %d: %s: a worker with ten Python bolts takes %.1f MB", w.rep+1, w.Kind, float64(pss)/1e6)
	return nil
}
