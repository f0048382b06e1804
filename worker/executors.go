// SPDX-License-Identifier: Apache-2.0

package worker

// This file makes the engine that runs executors, and ties it to the links to other workers.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/kryo"
	"github.com/gust-stream/gust/messaging/link"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/executor"
	"github.com/gust-stream/gust/worker/grouping"
)

// Executors makes engines that run executors. Components that registry has are linked into this program, all others are child
// processes; a nil registry has none.
func Executors(registry component.Registry) Factory {
	return func(s Setup) (Engine, error) { return newNode(s, registry) }
}

// node is an engine with its links to other workers.
type node struct {
	*executor.Engine
	setup  Setup
	server *link.Server
	peers  *peers
}

func newNode(s Setup, registry component.Registry) (*node, error) {
	n := &node{setup: s}
	sources := sourcesOf(s.Topology, s.Tasks)
	n.peers = newPeers(func(addr string) peer { return n.dial(addr, sources) }, s.Log)
	n.server = link.NewServer(link.ServerConfig{
		Worker: net.JoinHostPort(s.Host, strconv.Itoa(s.Port)), Tasks: tasksOf(s.Executors), Sources: sources, Log: s.Log,
		Deliver: func(batch []tuple.Message) { n.Deliver(batch) },
		Refused: func(m tuple.Message, err error) { n.refuse(m.Task, m.Tuple, err) },
		Load:    func() map[int32]float64 { return n.Load() },
		Names:   kryo.Registered(slices.Collect(maps.Keys(s.Conf.Map(config.TopologyKryoRegister)))),
	})
	var err error
	n.Engine, err = executor.New(executor.Config{
		TopologyID: s.TopologyID, Host: s.Host, Port: s.Port, Conf: s.Conf, Topology: s.Topology, Tasks: s.Tasks, Executors: s.Executors,
		Registry: registry, Credentials: s.Credentials, Resources: s.Resources, Pids: s.Pids, Report: s.Report, Log: s.Log, ComponentLog: s.ComponentLog,
		Remote: n.peers, Sources: sources.Of, Blocked: n.server.SetBlocked, Drain: drain(s.Conf),
	})
	return n, err
}

// drain is how long tuples under way are waited for at the end: a third of what the whole end may take.
func drain(conf config.Conf) time.Duration {
	return time.Duration(conf.Int(config.SupervisorWorkerShutdownSleepSecs, 3)) * time.Second / 3
}

// firstWait is the pause after the first attempt to connect, which doubles. It is below storm.messaging.netty.min_wait_ms: workers that start
// together miss each other by milliseconds, and no spout opens before all are connected.
const firstWait = 10 * time.Millisecond

func (n *node) dial(addr string, sources *frame.Sources) peer {
	return link.NewClient(link.ClientConfig{
		Address: addr, Sources: sources, Log: n.setup.Log,
		Notify:  n.notice,
		Refused: func(m tuple.Message, err error) { n.refuse(m.Tuple.Task, m.Tuple, err) },
		MinWait: firstWait, MaxWait: time.Duration(n.setup.Conf.Int(config.StormMessagingNettyMaxWaitMs, 1000)) * time.Millisecond,
	})
}

// refuse fails the trees of a tuple that a link could not write, read or keep, in the name of the task here that sent it or was to get it.
func (n *node) refuse(task int32, t *tuple.Tuple, err error) {
	var anchors []tuple.Anchor
	if t.Tracked() {
		anchors = append([]tuple.Anchor{t.Anchor}, t.More...)
	}
	if !errors.Is(err, link.ErrFull) {
		err = fmt.Errorf("%w; %s: java keeps the component on a Java worker", err, config.GustTopologyWorkerEngine)
	}
	n.Refuse(task, anchors, err)
}

// notice has everybody look again who may have waited for a link.
func (n *node) notice() {
	n.peers.notice()
	n.Wake()
}

// sourcesOf says who sends on which streams, the system's own task included.
func sourcesOf(t *storm.StormTopology, tasks topology.Tasks) *frame.Sources {
	streams := map[string]map[string][]string{}
	add := func(id string, c *storm.ComponentCommon) {
		streams[id] = map[string][]string{}
		for name, info := range c.Streams {
			streams[id][name] = info.OutputFields
		}
	}
	for id, s := range t.Spouts {
		add(id, s.Common)
	}
	for id, b := range t.Bolts {
		add(id, b.Common)
	}
	components := tasks.Map()
	components[tuple.SystemTask] = topology.SystemID
	return frame.NewSources(components, streams)
}

func tasksOf(executors []Executor) (tasks []int32) {
	for _, e := range executors {
		for task := e[0]; task <= e[1]; task++ {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// SetPeers makes links to where the tasks of others are.
func (n *node) SetPeers(peers map[int32]Peer) {
	places := &grouping.Places{Here: grouping.Place{Node: n.setup.Node, Port: int32(n.setup.Port)}, Tasks: map[int32]grouping.Place{}} //nolint:gosec // a port
	for task, p := range peers {
		places.Tasks[task] = grouping.Place{Node: p.Node, Port: p.Port}
	}
	for _, task := range tasksOf(n.setup.Executors) {
		places.Tasks[task] = places.Here
	}
	n.SetPlaces(places)
	n.peers.set(peers)
}

// Connected is closed once every peer was connected once.
func (n *node) Connected() <-chan struct{} { return n.peers.connected }

// Run runs the executors until ctx ends, and the links as long as they do.
func (n *node) Run(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", listenAddr(n.setup.Host, n.setup.Port))
	if err != nil {
		return fmt.Errorf("listen for other workers: %w", err)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	served := make(chan error, 1)
	go func() {
		defer end()
		served <- n.server.Run(beside, listener)
	}()
	linked := make(chan struct{})
	go func() {
		defer close(linked)
		n.peers.run(beside)
	}()
	err = n.Engine.Run(ctx)
	stop()
	<-linked
	if served := <-served; served != nil && !errors.Is(served, context.Canceled) {
		err = errors.Join(err, fmt.Errorf("serve other workers: %w", served))
	}
	return err
}

// listenAddr is where a worker listens: everywhere, but where its host is known by a loopback name only.
func listenAddr(host string, port int) string {
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		host = ""
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}
