// SPDX-License-Identifier: Apache-2.0

// This file numbers tasks and cuts them into executors.

package topology

import (
	"fmt"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// Normalize gives the topology as it is stored: with the number of tasks of each
// component in its conf. That number is topology.tasks of the component, else
// of conf, else its parallelism, and at most topology.max.task.parallelism. conf is
// the topology's whole conf, with the daemon's below it.
func Normalize(conf config.Conf, user *storm.StormTopology) (*storm.StormTopology, error) {
	t := clone(user)
	for _, c := range components(t) {
		own, err := c.conf()
		if err != nil {
			return nil, err
		}
		merged := config.Conf{
			config.TopologyTasks:              overlay(conf, own, config.TopologyTasks),
			config.TopologyMaxTaskParallelism: overlay(conf, own, config.TopologyMaxTaskParallelism),
		}
		tasks, err := integer(merged, config.TopologyTasks, c.executors())
		if err != nil {
			return nil, fmt.Errorf("component %s: %w", c.id, err)
		}
		limit, err := integer(merged, config.TopologyMaxTaskParallelism, tasks)
		if err != nil {
			return nil, fmt.Errorf("component %s: %w", c.id, err)
		}
		own[config.TopologyTasks] = int64(min(tasks, limit))
		if err := c.setConf(own); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// overlay reads a key of the upper conf or, if it is not there at all, of the lower one.
func overlay(lower, upper config.Conf, key string) any {
	if v, ok := upper[key]; ok {
		return v
	}
	return lower[key]
}

// Tasks says which component each task belongs to: Tasks[i] is the component of task i+1.
type Tasks []string

// TasksOf numbers the tasks of a system topology (see [System]): components in
// Java's string order, ids from 1. A component without topology.tasks in
// its conf is an error: the topology was not normalized.
func TasksOf(system *storm.StormTopology) (Tasks, error) {
	var tasks Tasks
	for _, c := range components(system) {
		conf, err := c.conf()
		if err != nil {
			return nil, err
		}
		n, err := conf.RequireInt(config.TopologyTasks)
		if err != nil {
			return nil, fmt.Errorf("tasks of component %s: %w", c.id, err)
		}
		if n > maxTasks || len(tasks)+int(max(n, 0)) > maxTasks {
			return nil, invalid("Component: [%s] brings the topology to more than %d tasks", c.id, maxTasks)
		}
		for range n {
			tasks = append(tasks, c.id)
		}
	}
	return tasks, nil
}

// maxTasks bounds a topology: task ids travel as signed 16 bits between workers.
// Storm accepts more, and then loses what is sent to them.
const maxTasks = 32767

// Map gives task id to component.
func (t Tasks) Map() map[int32]string {
	out := make(map[int32]string, len(t))
	for i, id := range t {
		out[int32(i+1)] = id
	}
	return out
}

// Executor is a run of tasks of one component, both ends included.
type Executor struct {
	Start, End int32
	Component  string
}

// Executors cuts the tasks of each component into counts[component] runs of
// nearly equal length, longer ones first, by ascending task id. A count above
// the number of tasks is cut down to it; a component without a count, or with
// one of 0 or less, gets no executor.
func Executors(tasks Tasks, counts map[string]int32) []Executor {
	var out []Executor
	for first := 0; first < len(tasks); {
		id := tasks[first]
		end := first
		for end < len(tasks) && tasks[end] == id {
			end++
		}
		for _, n := range partition(end-first, int(counts[id])) {
			out = append(out, Executor{Start: int32(first + 1), End: int32(first + n), Component: id})
			first += n
		}
		first = end
	}
	return out
}

// partition cuts n things into at most k runs, longer ones first.
func partition(n, k int) []int {
	if k <= 0 {
		return nil
	}
	k = min(k, n)
	out := make([]int, k)
	for i := range out {
		out[i] = n / k
		if i < n%k {
			out[i]++
		}
	}
	return out
}

// ComponentExecutors gives the number of executors that each component of a
// system topology starts with: StormBase.component_executors.
func ComponentExecutors(system *storm.StormTopology) map[string]int32 {
	out := map[string]int32{}
	for _, c := range components(system) {
		out[c.id] = c.executors()
	}
	return out
}
