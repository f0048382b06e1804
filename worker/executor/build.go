// SPDX-License-Identifier: Apache-2.0

package executor

// This file makes an engine of a topology. Nothing here is opened or started.

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/multilang"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/grouping"
	"github.com/gust-stream/gust/worker/metrics"
	"github.com/gust-stream/gust/worker/transfer"
)

// builder is what is known while an engine is made.
type builder struct {
	*Engine

	commons   map[string]*storm.ComponentCommon
	tasks     map[string][]int32 // of each component
	consumers map[string]map[string][]transfer.Consumer
	sources   func(task int32, stream string) *tuple.Source
	receivers map[string][]string // the components that each sends to, itself maybe; ackers but for their answers
	gates     map[[2]string][]string
	counting  metrics.Config
	local     []int32          // tasks
	names     map[int32]string // the component of each task
	settings  multilang.Settings
}

// New makes an engine. The error says which component cannot run here, and why.
func New(cfg Config) (*Engine, error) {
	if cfg.Drain == 0 {
		cfg.Drain = time.Second
	}
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	if cfg.Report == nil {
		cfg.Report = func(string, int32, error) {}
	}
	if cfg.ComponentLog == nil {
		cfg.ComponentLog = func(id string, task int32) *zap.Logger {
			return cfg.Log.With(zap.String("component_id", id), zap.Int32("task_id", task))
		}
	}
	b := &builder{
		Engine: &Engine{
			config: cfg, started: time.Now().Add(-time.Second), pool: &transfer.Pool{}, byTask: make([]*core, len(cfg.Tasks)+1),
			vigils: multilang.NewVigils(runtime.GOMAXPROCS(0) / 2),
		},
		commons:   map[string]*storm.ComponentCommon{},
		tasks:     map[string][]int32{},
		consumers: map[string]map[string][]transfer.Consumer{},
	}
	for id, s := range cfg.Topology.Spouts {
		b.commons[id] = s.Common
	}
	for id, s := range cfg.Topology.Bolts {
		b.commons[id] = s.Common
	}
	if cfg.Credentials != nil {
		b.credentials.Store(&cfg.Credentials)
	}
	if err := b.build(); err != nil {
		return nil, fmt.Errorf("engine of topology %s: %w", cfg.TopologyID, err)
	}
	return b.Engine, nil
}

func (b *builder) build() error {
	conf := b.config.Conf
	var err error
	if b.counting, err = metrics.ParseConfig(conf); err != nil {
		return err
	}
	b.counting.Start = time.Now()
	if b.settings, err = multilang.ParseSettings(conf); err != nil {
		return err
	}
	for _, warning := range b.settings.Warnings {
		b.config.Log.Warn("topology conf", zap.String("about", warning))
	}
	b.names = b.config.Tasks.Map()
	for _, e := range b.config.Executors {
		for task := e[0]; task <= e[1]; task++ {
			b.local = append(b.local, task)
		}
	}
	if conf.Bool(config.TopologyEnableMessageTimeouts, true) {
		b.timeout = time.Duration(conf.Int(config.TopologyMessageTimeoutSecs, 30)) * time.Second
	}
	for i, id := range b.config.Tasks {
		if b.commons[id] == nil {
			return fmt.Errorf("task %d belongs to component %q, which is not in the topology", i+1, id)
		}
		b.tasks[id] = append(b.tasks[id], int32(i+1))
	}
	b.ackers = b.tasks[tuple.AckerComponent]
	b.sources = b.config.Sources
	if b.sources == nil {
		b.sources = b.table()
	}
	b.tickSource = &tuple.Source{Component: tuple.SystemComponent, Stream: tuple.TickStream, Task: tuple.SystemTask, Fields: []string{"rate_secs"}}
	b.connect()
	var faults []error
	for _, e := range b.config.Executors {
		if err := b.executor(e); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	for _, r := range b.runners {
		if err := b.wire(r.base()); err != nil {
			faults = append(faults, fmt.Errorf("component %s: %w", r.base().component, err))
		}
	}
	if len(faults) == 0 && len(b.runners) > 0 {
		return b.system(b.runners[0].base())
	}
	return errors.Join(faults...)
}

// table makes a source for each task and stream when first asked, which is only while the engine is made.
func (b *builder) table() func(task int32, stream string) *tuple.Source {
	known := map[int32]map[string]*tuple.Source{}
	return func(task int32, stream string) *tuple.Source {
		if s := known[task][stream]; s != nil {
			return s
		}
		id := b.config.Tasks[task-1]
		streams := b.commons[id].Streams
		s := source(streams, id, stream, task)
		if known[task] == nil {
			known[task] = map[string]*tuple.Source{}
		}
		known[task][stream] = s
		return s
	}
}

func source(streams map[string]*storm.StreamInfo, id, stream string, task int32) *tuple.Source {
	s := &tuple.Source{Component: id, Stream: stream, Task: task}
	if info := streams[stream]; info != nil {
		s.Fields = info.OutputFields
		s.StreamID = int32(slices.Index(slices.Sorted(maps.Keys(streams)), stream) + 1)
	}
	return s
}

// isTree says whether a stream is between ackers and all others, which executors do without groupings.
func isTree(sender, receiver, stream string) bool {
	if sender != tuple.AckerComponent && receiver != tuple.AckerComponent {
		return false
	}
	return slices.Contains([]string{tuple.InitStream, tuple.AckStream, tuple.FailStream, tuple.ResetStream}, stream)
}

// connect finds out who sends to whom.
func (b *builder) connect() {
	receivers := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(b.commons)) {
		for from, g := range b.commons[id].Inputs {
			if isTree(from.ComponentId, id, from.StreamId) {
				continue
			}
			if b.consumers[from.ComponentId] == nil {
				b.consumers[from.ComponentId] = map[string][]transfer.Consumer{}
			}
			b.consumers[from.ComponentId][from.StreamId] = append(b.consumers[from.ComponentId][from.StreamId],
				transfer.Consumer{Component: id, Grouping: g, Tasks: b.tasks[id]})
			receivers[from.ComponentId] = append(receivers[from.ComponentId], id)
		}
		if id != tuple.AckerComponent {
			receivers[id] = append(receivers[id], tuple.AckerComponent)
		}
	}
	b.receivers, b.gates = receivers, transfer.Gates(receivers)
}

// Bounds of inboxes, in messages.
const (
	// hardLimit is where an inbox refuses: only tuples that multiply in a circle come so far.
	hardLimit = 1 << 20
)

// executor makes one executor, not yet connected to others.
func (b *builder) executor(e [2]int32) error {
	if e[0] < 1 || e[1] < e[0] || int(e[1]) > len(b.config.Tasks) {
		return fmt.Errorf("executor %v is not of this topology's %d tasks", e, len(b.config.Tasks))
	}
	id := b.config.Tasks[e[0]-1]
	conf, err := b.conf(id)
	if err != nil {
		return err
	}
	c := &core{engine: b.Engine, component: id, conf: conf, first: e[0], wake: make(chan struct{}, 1), ids: newIDs(), alarmAt: never}
	c.timers.clear()
	mark := int(conf.Int(config.TopologyExecutorReceiveBufferSize, 32768))
	limit := hardLimit
	if n := int(conf.Int(config.TopologyExecutorOverflowLimit, 0)); n > 0 {
		limit = mark + n
	}
	tasks := make([]int32, 0, e[1]-e[0]+1)
	for task := e[0]; task <= e[1]; task++ {
		tasks = append(tasks, task)
	}
	var notify func(bool)
	if tell := b.config.Blocked; tell != nil {
		notify = func(over bool) {
			for _, task := range tasks {
				tell(task, over)
			}
		}
	}
	c.inbox = transfer.NewInbox(mark, limit, c.wake, notify)
	c.tasks = make([]*task, len(tasks))
	r, err := b.kind(c)
	if err != nil {
		return fmt.Errorf("component %s: %w", id, err)
	}
	c.self = r
	for i, task := range tasks {
		c.tasks[i] = b.task(r, task)
		b.byTask[task] = c
	}
	if err := b.nurse(r); err != nil {
		return fmt.Errorf("component %s: %w", id, err)
	}
	b.runners = append(b.runners, r)
	return nil
}

// conf is the topology's conf with the component's own on top.
func (b *builder) conf(id string) (config.Conf, error) {
	text := b.commons[id].JSONConf
	if text == nil || *text == "" {
		return b.config.Conf, nil
	}
	own, err := config.ParseJSON([]byte(*text))
	if err != nil {
		return nil, fmt.Errorf("conf of component %s: %w", id, err)
	}
	return config.Merge(b.config.Conf, own), nil
}

func (b *builder) task(r runner, id int32) *task {
	c := r.base()
	t := &task{core: c, id: id, lines: b.config.ComponentLog(c.component, id), inputs: map[*tuple.Source]*metrics.Input{}}
	switch s := r.(type) {
	case *spout:
		t.spout = s
	case *shellSpout:
		t.spout = &s.spout
	}
	return t
}

// wire connects an executor to all that it sends to.
func (b *builder) wire(c *core) error {
	targets := make([]*transfer.Target, len(b.config.Tasks)+1)
	byExecutor := map[*core]*transfer.Target{}
	for i, id := range b.config.Tasks {
		to := b.byTask[i+1]
		switch {
		case !b.reaches(c, id):
		case to == nil:
			targets[i+1] = transfer.Elsewhere(int32(i + 1))
		case byExecutor[to] == nil:
			targets[i+1] = transfer.Local(to.inbox)
			byExecutor[to] = targets[i+1]
		default:
			targets[i+1] = byExecutor[to]
		}
		if t := targets[i+1]; t != nil && t.Gates == nil && t.RemoteGates == nil {
			b.gate(c.component, id, t)
		}
	}
	c.router = transfer.NewRouter(b.pool, b.config.Remote, targets)
	switch c.self.(type) {
	case *bolt, *spout: // children are stopped between their batches
		c.router.Hold = c.hold
	}
	c.router.Refused = c.refused
	routes := map[string]*transfer.Route{}
	streams := b.commons[c.component].Streams
	for _, name := range slices.Sorted(maps.Keys(streams)) {
		route, err := transfer.NewRoute(b.consumers[c.component][name], grouping.Context{
			Fields: streams[name].OutputFields, Local: b.local, Seed: rand.Int64(),
			Even:        b.config.Conf.Bool(config.TopologyDisableLoadawareMessaging, false),
			HigherBound: b.config.Conf.Float(config.TopologyLocalityawareHigherBound, 0.8),
			LowerBound:  b.config.Conf.Float(config.TopologyLocalityawareLowerBound, 0.2),
		})
		if err != nil {
			return fmt.Errorf("stream %q: %w", name, err)
		}
		routes[name] = route
		c.routes = append(c.routes, route)
		c.refreshes = c.refreshes || route.Refreshes()
	}
	counting := b.counting
	counting.Bolt = b.config.Topology.Spouts[c.component] == nil
	c.meter = metrics.New(counting)
	for _, t := range c.tasks {
		b.equip(t, routes)
	}
	c.tasks[0].stats.Queue("receive-queue", c.queue)
	if s := c.tasks[0].spout; s != nil {
		s.countSkips()
	}
	return nil
}

// equip gives a task what it emits through and counts on.
func (b *builder) equip(t *task, routes map[string]*transfer.Route) {
	t.stats = t.meter.Task()
	t.errors = t.stats.Count("__reported-error-count")
	t.emits = newSampler(b.counting.Rate)
	for kind, name := range kinds() {
		t.ackSources[kind] = b.sources(t.id, name)
		t.ackStats[kind] = t.stats.Output(name)
	}
	to := func(name string) out { return out{b.sources(t.id, name), routes[name], t.stats.Output(name)} }
	t.metrics = to(tuple.MetricsStream)
	if len(b.tasks[topology.EventLoggerID]) > 0 && routes[tuple.EventStream] != nil {
		o := to(tuple.EventStream)
		t.events = &o
	}
	streams := b.commons[t.component].Streams
	for _, name := range slices.Sorted(maps.Keys(streams)) {
		if strings.HasPrefix(name, "__") {
			continue // a component cannot emit on what is the system's
		}
		s := &component.Stream{Name: name, Fields: streams[name].OutputFields, Direct: streams[name].Direct, Index: len(t.streams)}
		t.streams = append(t.streams, s)
		t.outs = append(t.outs, to(name))
	}
}

// system makes the worker's own task, if anybody takes its metrics.
func (b *builder) system(c *core) error {
	consumers := b.consumers[tuple.SystemComponent][tuple.MetricsStream]
	if len(consumers) == 0 {
		return nil
	}
	streams := b.commons[tuple.SystemComponent].Streams
	route, err := transfer.NewRoute(consumers, grouping.Context{Fields: streams[tuple.MetricsStream].OutputFields, Local: b.local, Even: true})
	if err != nil {
		return err
	}
	counting := b.counting
	counting.Bolt = true
	stats := metrics.New(counting).Task()
	stats.Process()
	c.system = &systemTask{stats, out{source(streams, tuple.SystemComponent, tuple.MetricsStream, tuple.SystemTask), route, stats.Output(tuple.MetricsStream)}}
	return nil
}

// reaches says whether an executor ever sends to a component.
func (b *builder) reaches(c *core, id string) bool {
	if c.component == tuple.AckerComponent && b.config.Topology.Spouts[id] != nil {
		return true
	}
	return slices.Contains(b.receivers[c.component], id) ||
		c == b.runners[0].base() && slices.Contains(b.receivers[tuple.SystemComponent], id) // the worker's own task is at home there
}

// gate says what a sender heeds when it sends to a component's target.
func (b *builder) gate(sender, receiver string, to *transfer.Target) {
	gates, ok := b.gates[[2]string{sender, receiver}]
	if !ok || gates == nil {
		return // it never sends there, or must not wait
	}
	if len(gates) == 1 && to.Inbox != nil {
		to.Gates = []*transfer.Inbox{to.Inbox}
		return
	}
	seen := map[*core]bool{}
	for _, id := range gates {
		for _, task := range b.tasks[id] {
			switch c := b.byTask[task]; {
			case c == nil:
				to.RemoteGates = append(to.RemoteGates, task)
			case !seen[c]:
				seen[c] = true
				to.Gates = append(to.Gates, c.inbox)
			}
		}
	}
}
