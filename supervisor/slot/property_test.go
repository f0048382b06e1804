// SPDX-License-Identifier: Apache-2.0

package slot

// This file runs machines in a random world and checks what must hold in each, whatever happens in it.

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gust-stream/gust/thrift/storm"
)

// world plays the processes and the files around one machine, and watches it.
type world struct {
	t   *rapid.T
	m   *Machine
	now time.Duration

	want    *storm.LocalAssignment
	saved   *storm.LocalAssignment
	worker  *process
	twin    *process // that was not used yet
	ended   []int    // twins whose end was not told yet
	dead    []int    // workers whose directories are to be removed
	held    []string
	onDisk  map[string]bool
	pending []Event // answers that are due
}

type process struct {
	seq      int
	started  bool
	stopping bool
	serves   *storm.LocalAssignment
	up       bool // for a twin
}

func (w *world) step(ev Event) {
	if a, ok := ev.(Assigned); ok {
		w.want = a.Assignment
	}
	for _, a := range w.m.Step(w.now, ev) {
		w.carryOut(a)
	}
	w.check()
}

func (w *world) carryOut(a Action) {
	switch a := a.(type) {
	case Localize:
		if !slices.Contains(w.held, a.Assignment.TopologyID) {
			w.held = append(w.held, a.Assignment.TopologyID)
		}
		w.onDisk[a.Assignment.TopologyID] = true // or not: the answer may be a failure, then it is asked for again
		w.pending = append(w.pending, Localized{Attempt: a.Attempt, Limits: testLimits})
	case Retain:
		w.held = append(w.held, a.Assignment.TopologyID)
		w.onDisk[a.Assignment.TopologyID] = true
	case Release:
		if w.worker != nil && w.worker.serves.TopologyID == a.TopologyID {
			w.t.Fatalf("files of %s released under a running worker", a.TopologyID)
		}
		if w.twin != nil && w.twin.serves.TopologyID == a.TopologyID {
			w.t.Fatalf("files of %s released under a twin", a.TopologyID)
		}
		w.held = slices.DeleteFunc(w.held, func(id string) bool { return id == a.TopologyID })
		delete(w.onDisk, a.TopologyID)
	case UpdateBlobs:
		if w.worker != nil && w.worker.serves.TopologyID == a.Assignment.TopologyID {
			w.t.Fatalf("files of %s exchanged under a running worker", a.Assignment.TopologyID)
		}
		if w.twin != nil && w.twin.serves.TopologyID == a.Assignment.TopologyID {
			w.t.Fatalf("files of %s exchanged under a twin", a.Assignment.TopologyID)
		}
		w.pending = append(w.pending, Localized{Attempt: a.Attempt, Limits: testLimits})
	case Save:
		w.saved = a.Assignment
	case Launch:
		w.launch(a)
	case Prepare:
		w.prepare(a)
	case Discard:
		if w.twin == nil || w.twin.seq != a.Seq {
			w.t.Fatalf("twin %d discarded that is not there", a.Seq)
		}
		w.twin = nil
	case Stop:
		if w.worker == nil || w.worker.seq != a.Seq || !w.worker.started {
			w.t.Fatalf("stop of a worker %d that is not there", a.Seq)
		}
		w.worker.stopping = true
	case Remove:
		if w.worker != nil && w.worker.seq == a.Seq {
			w.t.Fatalf("directories of a living worker %d removed", a.Seq)
		}
		w.dead = slices.DeleteFunc(w.dead, func(seq int) bool { return seq == a.Seq })
	case Note:
	}
}

func (w *world) launch(a Launch) {
	if w.worker != nil {
		w.t.Fatalf("worker %d launched while %d lives", a.Seq, w.worker.seq)
	}
	if w.saved != a.Assignment {
		w.t.Fatalf("worker launched for an assignment that is not saved")
	}
	if !slices.Contains(w.held, a.Assignment.TopologyID) || !w.onDisk[a.Assignment.TopologyID] {
		w.t.Fatalf("worker launched without files of %s", a.Assignment.TopologyID)
	}
	if a.Twin != 0 {
		// It may have ended untold; then the driver starts another process for the same order.
		if w.twin == nil || w.twin.seq != a.Twin || !w.twin.up || !Equivalent(w.twin.serves, a.Assignment) {
			w.t.Fatalf("launch with a twin %d that cannot be used", a.Twin)
		}
		w.twin = nil
	}
	if w.twin != nil {
		w.t.Fatalf("worker launched beside a twin")
	}
	w.worker = &process{seq: a.Seq, serves: a.Assignment}
}

func (w *world) prepare(a Prepare) {
	switch {
	case w.twin != nil:
		w.t.Fatalf("a second twin %d prepared", a.Seq)
	case w.worker == nil || w.worker.stopping || !Equivalent(w.worker.serves, a.Assignment):
		w.t.Fatalf("twin prepared without a worker that it could follow")
	case !slices.Contains(w.held, a.Assignment.TopologyID):
		w.t.Fatalf("twin prepared without files")
	}
	w.twin = &process{seq: a.Seq, serves: a.Assignment}
}

// check holds after every step.
func (w *world) check() {
	if len(w.held) > 2 {
		w.t.Fatalf("files of %v held", w.held)
	}
	switch w.m.State() {
	case Empty, WaitingForBlobLocalization, WaitingForBlobUpdate:
		if w.worker != nil {
			w.t.Fatalf("a worker lives in state %s", w.m.State())
		}
	case WaitingForWorkerStart, Running:
		if w.worker == nil {
			w.t.Fatalf("no worker in state %s", w.m.State())
		}
		if !Equivalent(w.worker.serves, w.want) {
			w.t.Fatalf("a worker for something else lives in state %s", w.m.State())
		}
	case Kill, KillAndRelaunch, KillBlobUpdate:
	}
	if w.twin != nil && !Equivalent(w.twin.serves, w.want) {
		w.t.Fatalf("a twin for something else stands by in state %s", w.m.State())
	}
	if at, ok := w.m.Deadline(); ok && at <= w.now {
		w.t.Fatalf("deadline %s is not after %s in state %s: the driver would spin", at, w.now, w.m.State())
	}
}

// answer delivers one pending answer, or lets it go wrong.
func (w *world) answer(i int, fail bool) {
	ev := w.pending[i]
	w.pending = slices.Delete(w.pending, i, i+1)
	if l, ok := ev.(Localized); ok && fail {
		ev = LocalizationFailed{Attempt: l.Attempt, Reason: "drawn"}
	}
	w.step(ev)
}

func (w *world) end() {
	seq := w.worker.seq
	w.worker = nil
	w.dead = append(w.dead, seq)
	w.step(Gone{Seq: seq})
}

// settle lets everything succeed for a while; a machine has to reach what is wanted.
func (w *world) settle() {
	for range 400 {
		switch {
		case len(w.pending) > 0:
			w.answer(0, false)
		case w.worker != nil && !w.worker.started:
			w.worker.started = true
			w.step(Started{Seq: w.worker.seq})
		case w.worker != nil && w.worker.stopping:
			w.end()
		case w.worker != nil && w.m.State() == WaitingForWorkerStart:
			w.step(Heartbeat{Seq: w.worker.seq})
		case w.m.State() == Running && w.twin == nil:
			at, _ := w.m.Deadline()
			w.step(Heartbeat{Seq: w.worker.seq})
			w.now = max(w.now, min(at, w.now+5*time.Second))
			w.step(Tick{})
		case w.m.State() == Running && !w.twin.up:
			w.twin.up = true
			w.step(Prepared{Seq: w.twin.seq})
		case w.m.State() == Running, w.m.State() == Empty:
			return
		default:
			at, ok := w.m.Deadline()
			if !ok {
				w.t.Fatalf("stuck in state %s", w.m.State())
			}
			w.now = max(w.now, at)
			w.step(Tick{})
		}
	}
	w.t.Fatalf("never settled, state %s", w.m.State())
}

func drawAssignment(t *rapid.T) *storm.LocalAssignment {
	a := &storm.LocalAssignment{
		TopologyID: rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "topology"),
		Executors:  []*storm.ExecutorInfo{{TaskStart: 1, TaskEnd: rapid.Int32Range(1, 2).Draw(t, "last task")}},
	}
	if rapid.Bool().Draw(t, "owned") {
		a.Owner = new(string)
	}
	return a
}

// testLimits has a twin for every topology.
var testLimits = Limits{FirstHeartbeat: time.Minute, Heartbeat: 10 * time.Second, Twin: true}

func TestMachineProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, m: New(DefaultConfig()), onDisk: map[string]bool{}}
		if rapid.Bool().Draw(t, "adopted") {
			a := drawAssignment(t)
			w.want, w.worker = a, &process{seq: 1, started: true, serves: a}
			w.step(Adopted{Assignment: a, Limits: testLimits})
		}
		seqs := func() int {
			if w.worker != nil && rapid.IntRange(0, 9).Draw(t, "old") > 0 {
				return w.worker.seq
			}
			return rapid.IntRange(0, 20).Draw(t, "seq")
		}
		t.Repeat(map[string]func(*rapid.T){
			"assign":   func(t *rapid.T) { w.step(Assigned{Assignment: drawAssignment(t)}) },
			"withdraw": func(*rapid.T) { w.step(Assigned{}) },
			"again":    func(*rapid.T) { w.step(Assigned{Assignment: w.want}) },
			"blobs": func(t *rapid.T) {
				w.step(BlobsChanged{TopologyID: rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "of")})
			},
			"wait": func(t *rapid.T) {
				w.now += time.Duration(rapid.IntRange(0, 20_000).Draw(t, "ms")) * time.Millisecond
				w.step(Tick{})
			},
			"answer": func(t *rapid.T) {
				if len(w.pending) > 0 {
					w.answer(rapid.IntRange(0, len(w.pending)-1).Draw(t, "which"), rapid.Bool().Draw(t, "fail"))
				}
			},
			"start": func(t *rapid.T) {
				switch {
				case w.worker == nil || w.worker.started:
				case rapid.IntRange(0, 3).Draw(t, "luck") == 0:
					seq := w.worker.seq
					w.worker = nil
					w.dead = append(w.dead, seq)
					w.step(LaunchFailed{Seq: seq, Reason: "drawn"})
				default:
					w.worker.started = true
					w.step(Started{Seq: w.worker.seq})
				}
			},
			"heartbeat": func(*rapid.T) { w.step(Heartbeat{Seq: seqs()}) },
			"restart":   func(*rapid.T) { w.step(Restart{Seq: seqs()}) },
			"prepared": func(*rapid.T) {
				if w.twin != nil && !slices.Contains(w.ended, w.twin.seq) {
					w.twin.up = true
					w.step(Prepared{Seq: w.twin.seq})
				}
			},
			"twin ends": func(*rapid.T) {
				if w.twin != nil && !slices.Contains(w.ended, w.twin.seq) {
					w.ended = append(w.ended, w.twin.seq)
				}
			},
			"twin's end is told": func(*rapid.T) {
				if len(w.ended) > 0 {
					seq := w.ended[0]
					w.ended = w.ended[1:]
					w.step(TwinEnded{Seq: seq, Reason: "drawn"})
				}
			},
			"exit": func(*rapid.T) { w.step(Exited{Seq: seqs()}) },
			"end": func(*rapid.T) {
				if w.worker != nil && w.worker.stopping {
					w.end()
				}
			},
			"kill fails": func(*rapid.T) { w.step(KillFailed{Seq: seqs()}) },
			"settle": func(t *rapid.T) {
				w.t = t
				w.settle()
				if w.want == nil && w.m.State() != Empty || w.want != nil && w.m.State() != Running {
					t.Fatalf("settled in state %s while %v is wanted", w.m.State(), w.want)
				}
				if w.m.Current() != w.want || w.saved != w.want {
					t.Fatalf("settled with another assignment than the wanted one")
				}
				if w.want == nil && len(w.held) > 0 || w.want != nil && !slices.Equal(w.held, []string{w.want.TopologyID}) {
					t.Fatalf("settled with files of %v held", w.held)
				}
				if w.want != nil && (w.twin == nil || !w.twin.up) {
					t.Fatalf("settled without a twin")
				}
				if len(w.dead) > 0 {
					t.Fatalf("settled with directories of workers %v left", w.dead)
				}
			},
		})
	})
}
