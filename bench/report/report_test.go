// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		samples []float64
		want    float64
	}{
		"None": {nil, 0},
		"One":  {[]float64{3}, 3},
		"Odd":  {[]float64{9, 1, 4}, 4},
		"Even": {[]float64{9, 1, 4, 5}, 4.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Median(tc.samples); got != tc.want {
				t.Errorf("median of %v is %v, not %v", tc.samples, got, tc.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	smaller := Row{Stock: "s", Gust: "g", Unit: Seconds, Factor: 0.1}
	more := Row{Stock: "s", Gust: "g", Unit: PerSecond, Factor: 10}
	alone := Row{Gust: "g", Unit: Seconds, Factor: 0.1}
	itself := Row{Stock: "s", Gust: "g", Unit: Cores, Factor: 0.01, Alone: true}
	for name, tc := range map[string]struct {
		row      Row
		samples  Samples
		measured bool
		reached  bool
		ratio    string
	}{
		"SmallEnough":   {smaller, Samples{"s": {10}, "g": {1}}, true, true, "1/10.0"},
		"NotSmall":      {smaller, Samples{"s": {10}, "g": {4}}, true, false, "0.40"},
		"OftenEnough":   {more, Samples{"s": {3}, "g": {30}}, true, true, "10.0 times"},
		"NotOften":      {more, Samples{"s": {3}, "g": {29}}, true, false, "9.7 times"},
		"AboutAsOften":  {more, Samples{"s": {100}, "g": {93}}, true, false, "0.93 times"},
		"ByItself":      {itself, Samples{"s": {0.1}, "g": {0.005}}, true, true, "1/20.0"},
		"NotByItself":   {itself, Samples{"s": {10}, "g": {0.02}}, true, false, "1/500.0"},
		"Alone":         {alone, Samples{"g": {0.05}}, true, true, "-"},
		"AloneTooSlow":  {alone, Samples{"g": {0.2}}, true, false, "-"},
		"NothingOfGust": {smaller, Samples{"s": {10}}, false, false, "-"},
		"NothingOfBoth": {smaller, Samples{}, false, false, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := judge(tc.row, tc.samples, "")
			if got.Measured != tc.measured || got.Reached != tc.reached || got.ratio() != tc.ratio {
				t.Errorf("measured %v, reached %v, ratio %q; not %v, %v, %q",
					got.Measured, got.Reached, got.ratio(), tc.measured, tc.reached, tc.ratio)
			}
		})
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	rows := []Row{
		{ID: "start", Title: "start", Stock: "s", Gust: "g", Unit: Seconds, Factor: 0.1, Target: "at most 1/10"},
		{ID: "twin", Title: "twin", Stock: "s", Gust: "t", Unit: Seconds, Factor: 0.4, Target: "at most 0.4"},
		{ID: "pipe", Title: "pipe", Stock: "p", Gust: "q", Beside: "child alone", Unit: PerSecond, Target: "printed"},
	}
	samples := Samples{"s": {4, 6, 5}, "g": {0.05}, "p": {1000}, "q": {1500}}
	var out strings.Builder
	if err := New(Machine{Cores: 2}, rows, samples, map[string]string{"twin": "nothing to measure"}, time.Minute).Markdown(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| start | 5.00 s (4.00 s to 6.00 s, 3) | 50 ms (1) | 1/100.0 | at most 1/10 | yes |",
		"| twin | 5.00 s (4.00 s to 6.00 s, 3) | - | - | at most 0.4 | not measured |",
		"| pipe | child alone: 1000/s (1) | 1500/s (1) | 1.50 times | printed | - |",
		"twin: nothing to measure.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
}
