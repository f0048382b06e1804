// SPDX-License-Identifier: Apache-2.0

package slot

// This file checks which changes of an assignment restart a worker.

import (
	"testing"

	"github.com/gust-stream/gust/thrift/storm"
)

func TestEquivalent(t *testing.T) {
	t.Parallel()
	ptr := func(v float64) *float64 { return &v }
	base := func(change func(*storm.LocalAssignment)) *storm.LocalAssignment {
		a := &storm.LocalAssignment{
			TopologyID: "wc-1-1700000000",
			Executors:  []*storm.ExecutorInfo{{TaskStart: 1, TaskEnd: 2}, {TaskStart: 3, TaskEnd: 3}},
			Resources:  &storm.WorkerResources{MemOnHeap: ptr(256), Resources: map[string]float64{"cpu": 10}},
		}
		change(a)
		return a
	}
	same := base(func(*storm.LocalAssignment) {})
	for name, tc := range map[string]struct {
		a, b *storm.LocalAssignment
		want bool
	}{
		"Both none":        {nil, nil, true},
		"One none":         {same, nil, false},
		"Same":             {same, base(func(*storm.LocalAssignment) {}), true},
		"Other order":      {same, base(func(a *storm.LocalAssignment) { a.Executors[0], a.Executors[1] = a.Executors[1], a.Executors[0] }), true},
		"Executor twice":   {same, base(func(a *storm.LocalAssignment) { a.Executors = append(a.Executors, a.Executors[0]) }), true},
		"Other owner":      {same, base(func(a *storm.LocalAssignment) { a.Owner = &a.TopologyID }), true},
		"Other node share": {same, base(func(a *storm.LocalAssignment) { a.TotalNodeShared = ptr(1) }), true},
		"Zero for unset":   {same, base(func(a *storm.LocalAssignment) { a.Resources.MemOffHeap = ptr(0) }), true},
		"Other topology":   {same, base(func(a *storm.LocalAssignment) { a.TopologyID = "wc-2-1700000000" }), false},
		"Executor more": {same, base(func(a *storm.LocalAssignment) {
			a.Executors = append(a.Executors, &storm.ExecutorInfo{TaskStart: 4, TaskEnd: 4})
		}), false},
		"Executor cut":  {same, base(func(a *storm.LocalAssignment) { a.Executors[0] = &storm.ExecutorInfo{TaskStart: 1, TaskEnd: 1} }), false},
		"Other heap":    {same, base(func(a *storm.LocalAssignment) { a.Resources.MemOnHeap = ptr(512) }), false},
		"Other generic": {same, base(func(a *storm.LocalAssignment) { a.Resources.Resources["gpu"] = 1 }), false},
		"No resources":  {same, base(func(a *storm.LocalAssignment) { a.Resources = nil }), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Equivalent(tc.a, tc.b); got != tc.want {
				t.Errorf("Equivalent = %t, want %t", got, tc.want)
			}
			if got := Equivalent(tc.b, tc.a); got != tc.want {
				t.Errorf("Equivalent the other way round = %t, want %t", got, tc.want)
			}
		})
	}
}
