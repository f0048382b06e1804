// SPDX-License-Identifier: Apache-2.0

package worker

// This file makes a worker and holds the order in which it starts and stops.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

// Worker is the frame around the executors of one slot.
type Worker struct {
	args     Args
	local    localstate.GoWorker
	layout   localstate.Layout
	host     string
	times    times
	factory  Factory
	logs     *logs
	log      *zap.Logger
	started  time.Time
	upstream *upstream
	asked    <-chan os.Signal // for profiles; nil if nobody can ask
	ending   chan struct{}    // closed when the executors are told to end

	// Set by start, before any goroutine that reads them.
	cluster   *cluster.State
	plan      *plan
	executors []Executor
	peers     map[int32]Peer
	engine    Engine
	reporter  *reporter

	credentials map[string]string // at the start
}

// times are the pauses between what is done again and again.
type times struct {
	beat, stats, refresh time.Duration
}

// newWorker makes a worker. It opens nothing and starts nothing.
func newWorker(args Args, local localstate.GoWorker, logs *logs, factory Factory) *Worker {
	conf := local.Conf
	secs := func(key string, def int64) time.Duration {
		return time.Duration(max(conf.Int(key, def), 1)) * time.Second
	}
	host := conf.String(config.StormLocalHostname, "localhost")
	return &Worker{
		args: args, local: local, layout: localstate.Layout{Local: local.LocalDir, Artifacts: local.Artifacts}, host: host,
		times: times{
			beat:    secs(config.WorkerHeartbeatFrequencySecs, 1),
			stats:   secs(config.ExecutorMetricsFrequencySecs, 60),
			refresh: secs(config.TaskRefreshPollSecs, 10),
		},
		factory: factory, logs: logs, log: logs.logger().Named("worker"), started: time.Now(),
		upstream: newUpstream(conf, host, args.SupervisorPort), ending: make(chan struct{}),
	}
}

// Run runs the worker until ctx ends, then closes its components and returns nil. An error says why it could not go on.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.notePid(); err != nil {
		return err
	}
	defer w.upstream.close()
	if err := w.start(ctx); err != nil {
		if w.cluster != nil {
			w.cluster.Close()
		}
		return fmt.Errorf("start: %w", err)
	}
	defer w.cluster.Close()
	w.log.Info("worker runs", zap.String("topology_id", w.args.TopologyID), zap.Int("port", w.args.Port), zap.String("worker_id", w.args.WorkerID),
		zap.Int("executors", len(w.executors)), zap.Duration("took", time.Since(w.started)))
	err := w.serve(ctx)
	w.leave()
	return err
}

// start reads and asks for all that the engine is made from, as much of it at once as can be.
func (w *Worker) start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	connected := make(chan struct{})
	group.Go(func() (err error) {
		w.cluster, err = connect(ctx, w.local.Conf, w.log)
		close(connected)
		return err
	})
	group.Go(func() (err error) {
		w.plan, err = readPlan(ctx, w.layout.Topology(w.args.TopologyID))
		return err
	})
	var assignment *storm.Assignment
	group.Go(func() (err error) {
		if assignment, err = w.upstream.assignment(ctx, w.args.TopologyID); assignment != nil {
			return nil
		}
		<-connected
		if w.cluster == nil {
			return err
		}
		assignment, err = w.cluster.Assignment(ctx, w.args.TopologyID)
		return err
	})
	var creds *storm.Credentials
	var base *storm.StormBase
	group.Go(func() (err error) {
		<-connected
		if w.cluster == nil {
			return nil
		}
		if creds, err = w.cluster.Credentials(ctx, w.args.TopologyID); err != nil {
			return err
		}
		base, err = w.cluster.Storm(ctx, w.args.TopologyID)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return w.makeEngine(assignment, creds, base)
}

// makeEngine builds what runs the executors.
func (w *Worker) makeEngine(assignment *storm.Assignment, creds *storm.Credentials, base *storm.StormBase) error {
	if assignment == nil {
		return fmt.Errorf("%w: topology %s has no assignment", errReassigned, w.args.TopologyID)
	}
	w.executors = executorsOn(assignment, w.args.SupervisorID, w.args.Port)
	if len(w.executors) == 0 {
		return fmt.Errorf("%w: it has no executors of topology %s", errReassigned, w.args.TopologyID)
	}
	w.peers = peersOf(assignment, w.args.SupervisorID, w.args.Port)
	conf := w.plan.conf
	w.reporter = newReporter(w.host, w.args.Port, time.Duration(conf.Int(config.TopologyErrorThrottleIntervalSecs, 10))*time.Second,
		int(conf.Int(config.TopologyMaxErrorReportPerInterval, 5)), w.logs.component)
	setup := Setup{
		TopologyID: w.args.TopologyID, Node: w.args.SupervisorID, Port: w.args.Port, Host: w.host,
		Conf: conf, Topology: w.plan.system, Tasks: w.plan.tasks, Executors: w.executors,
		Resources: w.layout.TopologyResources(w.args.TopologyID), Pids: w.layout.WorkerPids(w.args.WorkerID),
		Report: w.reporter.report, Log: w.logs.logger(), ComponentLog: w.logs.component,
	}
	if creds != nil {
		w.credentials = creds.Creds
		setup.Credentials = maps.Clone(creds.Creds)
	}
	var err error
	if w.engine, err = w.factory(setup); err != nil {
		return err
	}
	w.engine.SetPeers(w.peers)
	w.applyBase(base)
	return nil
}

// serve runs the engine and all that goes on beside it, until ctx ends or one of them cannot go on.
func (w *Worker) serve(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	context.AfterFunc(ctx, func() { close(w.ending) })
	// Heartbeats and reports go on while the components are closed.
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error {
		defer stop()
		err := w.engine.Run(ctx)
		if err == nil && ctx.Err() == nil {
			err = errors.New("the executors have ended")
		}
		return err
	})
	group.Go(func() error { return w.beatLocally(beside) })
	group.Go(func() error { return w.beatRemotely(beside) })
	group.Go(func() error { return w.tellStats(ctx) })
	group.Go(func() error { return w.followAssignment(ctx) })
	group.Go(func() error { return w.followStorm(ctx) })
	group.Go(func() error { return w.followLevels(ctx) })
	group.Go(func() error { return w.followCredentials(ctx) })
	group.Go(func() error {
		paceCollector(ctx)
		return nil
	})
	group.Go(func() error {
		w.settle(ctx)
		return nil
	})
	group.Go(func() error {
		(&profiler{dir: w.layout.Worker(w.args.WorkerID), log: w.log}).run(beside, w.asked)
		return nil
	})
	group.Go(func() error {
		w.reporter.run(beside, w.writeError, w.log)
		return nil
	})
	return group.Wait()
}

func (w *Worker) writeError(ctx context.Context, component string, info *storm.ErrorInfo) error {
	return w.cluster.AddError(ctx, w.args.TopologyID, component, info, keptErrors)
}

// leave takes back what only a running worker has in the cluster state.
func (w *Worker) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	w.reporter.flush(ctx, w.writeError, newTrouble(w.log, "reported error could not be written", ""))
	if err := w.cluster.RemoveWorkerBeat(ctx, w.args.TopologyID, w.args.SupervisorID, int64(w.args.Port)); err != nil {
		w.log.Warn("statistics could not be removed", zap.Error(err))
	}
}

// connect opens a session with the cluster state.
func connect(ctx context.Context, conf config.Conf, log *zap.Logger) (*cluster.State, error) {
	port := strconv.FormatInt(conf.Int(config.StormZookeeperPort, 2181), 10)
	var servers []string
	for _, host := range conf.Strings(config.StormZookeeperServers) {
		servers = append(servers, net.JoinHostPort(host, port))
	}
	millis := func(key string, def int64) time.Duration { return time.Duration(conf.Int(key, def)) * time.Millisecond }
	return cluster.Connect(ctx, cluster.Config{
		Servers: servers, Root: conf.String(config.StormZookeeperRoot, "/storm"),
		SessionTimeout: millis(config.StormZookeeperSessionTimeout, 20_000),
		ConnectTimeout: millis(config.StormZookeeperConnectionTimeout, 15_000),
		Scheme:         conf.String(config.StormZookeeperAuthScheme, ""),
		Auth:           []byte(conf.String(config.StormZookeeperAuthPayload, "")),
	}, log.Named("cluster"))
}
