// SPDX-License-Identifier: Apache-2.0

package metrics_test

// Tests of the consumer that logs.

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/multilang/component/componenttest"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/metrics"
)

// logged gives the lines for some data points.
func logged(t *testing.T, entry config.Conf, points ...any) []string {
	t.Helper()
	var lines []string
	l, err := metrics.NewLogging(entry, func(line string) { lines = append(lines, line) })
	if err != nil {
		t.Fatal(err)
	}
	info := tuple.TaskInfo{Host: "localhost", Port: 6700, Component: "split", Task: 3, Time: 1796069888, Interval: 60}
	sent := componenttest.NewBolt(t, l, componenttest.Options{}).Input("split", "task-info", "data-points").Send(info, points)
	if !sent.Acked {
		t.Fatal("not acked")
	}
	return lines
}

func TestLoggingWritesAsStorm(t *testing.T) {
	t.Parallel()
	const head = "1796069888\t      localhost:6700\t  3:split      \t"
	want := []string{head + "words                  \t7", head + "rate                   \t2.0", head + "sizes                  \t{a=1, b=[null, 1.5]}"}
	got := logged(
		t, nil, tuple.DataPoint{Name: "words", Value: int64(7)}, tuple.DataPoint{Name: "rate", Value: 2.0},
		tuple.DataPoint{Name: "sizes", Value: map[string]any{"b": []any{nil, 1.5}, "a": int64(1)}},
	)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoggingFiltersAndExpands(t *testing.T) {
	t.Parallel()
	points := []any{
		tuple.DataPoint{Name: "words", Value: int64(1)}, tuple.DataPoint{Name: "sizes", Value: map[string]any{"a": int64(1), "b": int64(2)}},
	}
	for _, one := range []struct {
		name  string
		entry config.Conf
		want  int
	}{
		{"All", config.Conf{}, 2},
		{"White", config.Conf{"whitelist": []any{"^wo"}}, 1},
		{"Black", config.Conf{"blacklist": []any{"ords", "zes$"}}, 0},
		{"Expanded", config.Conf{"expandMapType": true}, 3},
		{"ExpandedAndFiltered", config.Conf{"expandMapType": true, "metricNameSeparator": "/", "whitelist": []any{"sizes/b"}}, 1},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			if got := logged(t, one.entry, points...); len(got) != one.want {
				t.Errorf("%d lines: %q", len(got), got)
			}
		})
	}
}

func TestNewLoggingRefuses(t *testing.T) {
	t.Parallel()
	for _, entry := range []config.Conf{{"whitelist": []any{"("}}, {"whitelist": []any{"a"}, "blacklist": []any{"b"}}} {
		if _, err := metrics.NewLogging(entry, nil); err == nil {
			t.Errorf("%v passes", entry)
		}
	}
}

func TestLoggingEntry(t *testing.T) {
	t.Parallel()
	conf := config.Conf{config.TopologyMetricsConsumerRegister: []any{
		map[string]any{"class": "org.example.Mine"}, map[string]any{"class": metrics.LoggingClass, "n": 1}, map[string]any{"class": metrics.LoggingClass, "n": 2},
	}}
	for id, want := range map[string]any{
		"__metrics_" + metrics.LoggingClass: 1, "__metrics_" + metrics.LoggingClass + "#2": 2, "__metrics_org.example.Mine": nil,
		"__metrics_" + metrics.LoggingClass + "#3": nil, "words": nil,
	} {
		entry, ok := metrics.LoggingEntry(conf, id)
		if ok != (want != nil) || entry["n"] != want {
			t.Errorf("LoggingEntry(%s) = %v, %v", id, entry, ok)
		}
	}
}
