// SPDX-License-Identifier: Apache-2.0

// This file checks what must hold for every cut of tasks into executors.

package topology

import (
	"testing"

	"pgregory.net/rapid"
)

func TestExecutorsCoverTasksEvenly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tasks Tasks
		counts := map[string]int32{}
		for _, id := range []string{"__acker", "a", "b"} {
			for range rapid.IntRange(0, 40).Draw(t, "tasks of "+id) {
				tasks = append(tasks, id)
			}
			counts[id] = rapid.Int32Range(-2, 50).Draw(t, "executors of "+id)
		}
		executors := Executors(tasks, counts)
		shortest, longest, number, sum := map[string]int32{}, map[string]int32{}, map[string]int32{}, map[string]int32{}
		last := int32(0)
		for _, e := range executors {
			if e.Start <= last || e.End < e.Start || int(e.End) > len(tasks) {
				t.Fatalf("executor %v after task %d of %d", e, last, len(tasks))
			}
			for task := e.Start; task <= e.End; task++ {
				if tasks[task-1] != e.Component {
					t.Fatalf("executor %v has task %d of %s", e, task, tasks[task-1])
				}
			}
			last = e.End
			n := e.End - e.Start + 1
			if number[e.Component] == 0 {
				shortest[e.Component], longest[e.Component] = n, n
			}
			if n > shortest[e.Component] {
				t.Fatalf("executor %v is longer than one before it", e)
			}
			shortest[e.Component] = n
			number[e.Component]++
			sum[e.Component] += n
		}
		total := map[string]int32{}
		for _, id := range tasks {
			total[id]++
		}
		for id, n := range total {
			if counts[id] <= 0 {
				n = 0
			}
			if want := min(max(counts[id], 0), n); number[id] != want || sum[id] != n || longest[id]-shortest[id] > 1 {
				t.Fatalf("%s: %d tasks in %d executors of %d to %d tasks, want %d executors with %d tasks",
					id, sum[id], number[id], shortest[id], longest[id], want, n)
			}
		}
	})
}
