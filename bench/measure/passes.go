// SPDX-License-Identifier: Apache-2.0

// This file runs the scheduler's own Go benchmarks; stock has nothing like them.

package measure

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/gust-stream/gust/bench/report"
)

func passes() Group {
	const size = "1,000 supervisors, 300 topologies, 12,000 executors (Go benchmark)"
	return Group{
		ID:   "passes",
		Name: "scheduling passes",
		Rows: []report.Row{
			{
				ID: "full-pass", Title: "full scheduling pass, " + size, Gust: "BenchmarkFullPass",
				Unit: report.Seconds, Factor: 0.1, Target: "at most 100 ms",
			},
			{
				ID: "one-change", Title: "scheduling pass after one topology changed, " + size, Gust: "BenchmarkOneChange",
				Unit: report.Seconds, Factor: 0.005, Target: "at most 5 ms",
			},
		},
		Measure: measurePasses,
	}
}

func measurePasses(ctx context.Context, r *Run) error {
	return r.Lock.Hold(ctx, func() error {
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^(BenchmarkFullPass|BenchmarkOneChange)$",
			"-count", strconv.Itoa(r.Reps), "./nimbus/scheduler")
		cmd.Dir = r.Site.Root
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("run the scheduler's benchmarks: %w\n%s", err, out)
		}
		for series, seconds := range parseBenchmarks(string(out)) {
			for _, each := range seconds {
				r.Samples.Add(series, each)
			}
			r.Say("%s: %.3g ms", series, report.Median(seconds)*1000)
		}
		return nil
	})
}

// parseBenchmarks reads the seconds an operation took from the output of go test.
func parseBenchmarks(out string) map[string][]float64 {
	line := regexp.MustCompile(`(?m)^(Benchmark\w+)(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op`)
	found := map[string][]float64{}
	for _, match := range line.FindAllStringSubmatch(out, -1) {
		if ns, err := strconv.ParseFloat(match[2], 64); err == nil {
			found[match[1]] = append(found[match[1]], ns/1e9)
		}
	}
	return found
}
