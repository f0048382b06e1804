// SPDX-License-Identifier: Apache-2.0

// This file compares executor statistics: the same events at the same times, rendered by Storm's classes and by gust's.

package grouping

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gust-stream/gust/compat-tests/stockjava"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/worker/metrics"
)

// history is what an executor lives through.
type history struct {
	Bolt    bool    `json:"bolt"`
	Rate    int     `json:"rate"`
	Buckets int     `json:"buckets"`
	Start   int64   `json:"start"`
	Keys    []any   `json:"keys"`
	Steps   []event `json:"steps"`
}

// event is something that happens to a key, a stream or a component and a stream. N is a number of tasks or of milliseconds.
type event struct {
	At  int64  `json:"at"`
	Do  string `json:"do"`
	Key any    `json:"key"`
	N   int    `json:"n"`
}

const stream = "default"

// makeHistory makes up a history of up to two days, with times in whole seconds.
func makeHistory(r *rand.Rand) history {
	h := history{
		Bolt: r.IntN(2) == 0, Rate: []int{1, 20, 3}[r.IntN(3)], Buckets: []int{20, 20, 2, 7}[r.IntN(4)],
		Start: 1_700_000_000_000 + r.Int64N(1e9), Keys: []any{stream, "other", []any{"words", stream}, []any{"words", "x"}, []any{"a", stream}},
	}
	now, turned := h.Start, h.Start
	bucket := int64(600_000 / (max(2, h.Buckets) - 1))
	pace := []int64{1, 20, 60, 500, 4000}[r.IntN(5)]
	for range 300 {
		now += r.Int64N(pace+1) * 1000
		if now-turned >= bucket {
			h.Steps = append(h.Steps, event{At: now, Do: "turn"})
			turned = now
		}
		h.Steps = append(h.Steps, h.event(r, now))
	}
	h.Steps = append(h.Steps, event{At: now, Do: "render"})
	return h
}

func (h *history) event(r *rand.Rand, now int64) event {
	e := event{At: now, Do: []string{"emit", "ack", "fail", "execute", "render"}[r.IntN(5)], Key: h.Keys[r.IntN(2)], N: r.IntN(5)}
	if e.Do == "execute" && !h.Bolt {
		e.Do = "ack"
	}
	if h.Bolt && (e.Do == "execute" || e.Do == "ack" || e.Do == "fail") {
		e.Key = h.Keys[2+r.IntN(3)]
		e.N = r.IntN(2000)
	}
	return e
}

// run gives what gust renders.
func (h *history) run() []any {
	start := time.UnixMilli(h.Start)
	e := metrics.New(metrics.Config{Bolt: h.Bolt, Rate: h.Rate, Buckets: h.Buckets, Interval: 60, V2: 30, Start: start})
	task := e.Task()
	var out []any
	for _, step := range h.Steps {
		now, latency := time.UnixMilli(step.At), time.Duration(step.N)*time.Millisecond
		var o *metrics.Output
		var in *metrics.Input
		switch key := step.Key.(type) {
		case string:
			o = task.Output(key)
		case []any:
			in = task.Input(key[0].(string), key[1].(string))
		}
		switch {
		case step.Do == "turn":
			e.Turn(now)
		case step.Do == "render":
			out = append(out, flat(e.Render(now), task, now))
		case step.Do == "emit":
			o.Emitted(step.N)
		case step.Do == "execute":
			in.Executed(latency)
		case step.Do == "ack" && h.Bolt:
			in.Acked(latency)
		case step.Do == "ack":
			o.Acked(latency)
		case h.Bolt:
			in.Failed()
		default:
			o.Failed()
		}
	}
	return out
}

// flat gives the form that the driver gives.
func flat(s *storm.ExecutorStats, task *metrics.Task, now time.Time) any {
	out := map[string]any{"emitted": s.Emitted, "transferred": s.Transferred, "rate": s.Rate}
	if b := s.Specific.Bolt; b != nil {
		out["acked"], out["failed"], out["executed"] = texts(b.Acked), texts(b.Failed), texts(b.Executed)
		out["process"], out["execute"] = texts(b.ProcessMsAvg), texts(b.ExecuteMsAvg)
		for _, point := range task.Collect(now, 30) {
			if point.Name == "__capacity" {
				out["capacity"] = point.Value
			}
		}
		return out
	}
	out["acked"], out["failed"], out["complete"] = s.Specific.Spout.Acked, s.Specific.Spout.Failed, s.Specific.Spout.CompleteMsAvg
	return out
}

func texts[V any](windows map[string]map[*storm.GlobalStreamId]V) map[string]map[string]V {
	out := map[string]map[string]V{}
	for window, values := range windows {
		out[window] = map[string]V{}
		for id, v := range values {
			out[window][id.ComponentId+"/"+id.StreamId] = v
		}
	}
	return out
}

func TestStatsCompat(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 1))
	all := make([]history, 400)
	lines := make([][]byte, len(all))
	for i := range all {
		all[i] = makeHistory(r)
		var err error
		if lines[i], err = json.Marshal(all[i]); err != nil {
			t.Fatal(err)
		}
	}
	renders, different := 0, 0
	for i, answer := range stockjava.Ask(t, "java/stats", "org.apache.storm.metric.internal.StatsDriver", lines) {
		var theirs, ours []any
		if err := json.Unmarshal(answer, &theirs); err != nil {
			t.Fatalf("answer %.200s: %v", answer, err)
		}
		encoded, err := json.Marshal(all[i].run())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encoded, &ours); err != nil {
			t.Fatal(err)
		}
		renders += len(ours)
		if diff := cmp.Diff(theirs, ours, cmpopts.EquateApprox(1e-9, math.SmallestNonzeroFloat64)); diff != "" {
			different++
			t.Errorf("history %d of seed %d, Storm -, gust +:\n%.3000s", i, *seed, diff)
		}
	}
	t.Logf("%d histories with %d renderings, %d differ", len(all), renders, different)
}
