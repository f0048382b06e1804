// SPDX-License-Identifier: Apache-2.0

// This file compares the data points of a task: names, classes and values of Storm's TaskMetrics and of gust's.

package grouping

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gust-stream/gust/compat-tests/stockjava"
	"github.com/gust-stream/gust/worker/metrics"
)

// makeSteps makes up the events of a minute: kind, component, stream and a number. Each latency comes three times, of which Storm gives the mean.
func makeSteps(r *rand.Rand) [][]any {
	var out [][]any
	for range r.IntN(30) {
		out = append(out, []any{"emit", "", []string{"default", "a.b"}[r.IntN(2)], r.IntN(4)})
	}
	for _, component := range []string{"words", "__system"} {
		for _, kind := range []string{"spoutack", "spoutfail", "execute", "ack", "fail"} {
			stream := []string{"default", "other"}[r.IntN(2)]
			for range []int{0, 3}[r.IntN(2)] {
				if strings.HasPrefix(kind, "spout") {
					stream = component
				}
				out = append(out, []any{kind, component, stream, r.IntN(1000)})
			}
		}
	}
	return out
}

func collect(rate int, steps [][]any) map[string]any {
	start := time.Unix(1_700_000_000, 0)
	task := metrics.New(metrics.Config{Rate: rate, Buckets: 20, Interval: 60, V2: 60, Start: start}).Task()
	for _, step := range steps {
		o, in := task.Output(step[2].(string)), task.Input(step[1].(string), step[2].(string))
		latency := time.Duration(step[3].(int)) * time.Millisecond
		switch step[0] {
		case "emit":
			o.Emitted(step[3].(int))
		case "spoutack":
			o.Acked(latency)
		case "spoutfail":
			o.Failed()
		case "execute":
			in.Executed(latency)
		case "ack":
			in.Acked(latency)
		default:
			in.Failed()
		}
	}
	task.Count("__reported-error-count").Add(2)
	task.Queue("receive-queue", func() metrics.Queue { return metrics.Queue{Capacity: 1024, Population: 2, Arrived: 2} })
	out := map[string]any{}
	for _, p := range task.Collect(start.Add(time.Minute), 60) {
		class := map[string]string{"int32": "Integer", "int64": "Long", "float32": "Float", "float64": "Double"}[fmt.Sprintf("%T", p.Value)]
		out[p.Name] = []any{class, p.Value}
	}
	return out
}

func TestDataPointsCompat(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 2))
	all := make([][][]any, 100)
	lines := make([][]byte, len(all))
	for i := range all {
		all[i] = makeSteps(r)
		var err error
		if lines[i], err = json.Marshal(map[string]any{"sample": 0.05, "steps": all[i]}); err != nil {
			t.Fatal(err)
		}
	}
	points := 0
	for i, answer := range stockjava.Ask(t, "java/metrics", "org.apache.storm.metrics2.MetricsDriver", lines) {
		var theirs, ours map[string]any
		if err := json.Unmarshal(answer, &theirs); err != nil {
			t.Fatalf("answer %.200s: %v", answer, err)
		}
		encoded, err := json.Marshal(collect(20, all[i]))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encoded, &ours); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"receive-queue-arrival_rate_secs", "receive-queue-sojourn_time_ms"} { // by the clock in Storm
			theirs[name], ours[name] = theirs[name].([]any)[0], ours[name].([]any)[0]
		}
		points += len(ours)
		if diff := cmp.Diff(theirs, ours, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("task %d, Storm -, gust +:\n%s", i, diff)
		}
	}
	t.Logf("%d tasks with %d data points", len(all), points)
}
