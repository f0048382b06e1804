// SPDX-License-Identifier: Apache-2.0

package local

// This file runs a topology from a description to a summary.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
	"github.com/gust-stream/gust/worker/executor"
)

// Options say how a topology is run.
type Options struct {
	// For is how long, 0 for until ctx ends.
	For time.Duration
	// Registry has the components that are linked into this binary, nil if there are none.
	Registry component.Registry
	// Resources is the folder that child processes work in.
	Resources string
	// Drain is how long tuples under way are waited for at the end; 0 is the engine's default.
	Drain   time.Duration
	Log     *zap.Logger
	started func(*executor.Engine) // of tests

	// Events and Metrics take lines, see [executor.Config].
	Events, Metrics func(line string)
}

// Error is an error of a component, and how often it came.
type Error struct {
	Component string
	Task      int32 // that had it last
	Text      string
	Count     int
}

// Summary is what a topology did.
type Summary struct {
	// Ran is how long.
	Ran time.Duration
	// Components are those of the topology, Storm's own too.
	Components map[string]executor.Counts
	// Errors are in the order in which they came first; beyond a hundred they only count.
	Errors []Error
}

// Engine makes the engine of a topology as Run does. conf is the topology's, over Storm's defaults; report may be nil.
func Engine(name string, user *storm.StormTopology, conf config.Conf, o Options, report func(string, int32, error)) (*executor.Engine, error) {
	defaults, err := config.Builtin()
	if err != nil {
		return nil, err
	}
	conf = config.Normalize(conf)
	if err := cmp.Or(config.ValidateTopology(conf), config.ValidateOwn(conf)); err != nil {
		return nil, err
	}
	normal, err := topology.NormalizeConf(defaults, conf, user)
	if err != nil {
		return nil, fmt.Errorf("conf: %w", err)
	}
	id := name + "-1-" + strconv.FormatInt(time.Now().Unix(), 10)
	normal["topology.name"], normal["storm.id"] = name, id
	whole := config.Merge(defaults, normal)
	user, err = topology.Normalize(whole, user)
	if err != nil {
		return nil, err
	}
	if len(user.Spouts) == 0 {
		return nil, errors.New("the topology has no spout, so nothing would happen")
	}
	system, err := topology.System(whole, user)
	if err != nil {
		return nil, err
	}
	tasks, err := topology.TasksOf(system)
	if err != nil {
		return nil, err
	}
	var executors [][2]int32
	for _, e := range topology.Executors(tasks, topology.ComponentExecutors(system)) {
		executors = append(executors, [2]int32{e.Start, e.End})
	}
	return executor.New(executor.Config{
		TopologyID: id, Host: "localhost", Conf: whole, Topology: system, Tasks: tasks, Executors: executors, Registry: o.Registry,
		Resources: o.Resources, Report: report, Log: o.Log, Drain: o.Drain,
		Events: o.Events, Metrics: o.Metrics,
	})
}

// Run runs a topology until ctx ends or its time is over, and tells what it did.
func Run(ctx context.Context, name string, user *storm.StormTopology, conf config.Conf, o Options) (Summary, error) {
	errs := &errorList{}
	engine, err := Engine(name, user, conf, o, errs.add)
	if err != nil {
		return Summary{}, fmt.Errorf("run topology %s: %w", name, err)
	}
	if o.started != nil {
		o.started(engine)
	}
	if o.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.For)
		defer cancel()
	}
	engine.SetActive(true)
	began := time.Now()
	err = engine.Run(ctx)
	sum := Summary{Ran: time.Since(began), Components: engine.Counts(), Errors: errs.take()}
	if err != nil {
		return sum, fmt.Errorf("run topology %s: %w", name, err)
	}
	return sum, nil
}

// maxErrors bounds the different errors that are kept.
const maxErrors = 100

// errorList collects errors of components.
type errorList struct {
	mu    sync.Mutex
	known map[[2]string]*Error // guarded by mu
	order []*Error             // guarded by mu
}

func (l *errorList) add(id string, task int32, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := [2]string{id, err.Error()}
	e := l.known[key]
	if e == nil {
		if len(l.order) >= maxErrors {
			return
		}
		if l.known == nil {
			l.known = map[[2]string]*Error{}
		}
		e = &Error{Component: id, Text: err.Error()}
		l.known[key] = e
		l.order = append(l.order, e)
	}
	e.Task = task
	e.Count++
}

func (l *errorList) take() []Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Error, len(l.order))
	for i, e := range l.order {
		out[i] = *e
	}
	return out
}

// Err is nil if no component had an error, else one that names the components.
func (s Summary) Err() error {
	names := map[string]bool{}
	for _, e := range s.Errors {
		names[e.Component] = true
	}
	var all []error
	for _, id := range slices.Sorted(maps.Keys(names)) {
		i := slices.IndexFunc(s.Errors, func(e Error) bool { return e.Component == id })
		all = append(all, fmt.Errorf("component %s: %s", id, s.Errors[i].Text))
	}
	return errors.Join(all...)
}
