// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file makes a supervisor and holds the order in which it starts and stops.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/lock"
	"github.com/gust-stream/gust/internal/openfiles"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/supervisor/container"
	"github.com/gust-stream/gust/supervisor/localizer"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// ClusterState is what a supervisor needs of the cluster state; *cluster.State is one.
type ClusterState interface {
	// SetSupervisor writes the supervisor's entry, which lives as long as the session.
	SetSupervisor(ctx context.Context, id string, info *storm.SupervisorInfo) error
	// Sessions gives a mark each time a session was established.
	Sessions() <-chan struct{}
	// ProfileRequests gives what was asked for of a topology's workers.
	ProfileRequests(ctx context.Context, topologyID string) ([]*storm.ProfileRequest, error)
	// RemoveProfileRequest strikes off one that is done.
	RemoveProfileRequest(ctx context.Context, topologyID string, request *storm.ProfileRequest) error
	// SetStateReport tells which keyed states a supervisor keeps, StateReports gives what all told.
	SetStateReport(ctx context.Context, supervisorID string, report cluster.StateReport) error
	StateReports(ctx context.Context) (map[string]cluster.StateReport, error)
}

// Supervisor runs the workers of one machine.
type Supervisor struct {
	cfg     Config
	state   ClusterState
	log     *zap.Logger
	origin  time.Time
	nimbus  *nimbus
	blobs   *localizer.Localizer
	store   *localstate.Store
	workers *container.Launcher
	board   *board
	states  *states
	server  *rpc.Server
	poll    chan struct{} // holds a mark when assignments shall be asked for now
	ready   chan struct{} // closed when Run serves

	// Set by prepare, before any goroutine runs.
	id           string
	stormOptions string
	serverPort   int

	mu          sync.Mutex
	assignments map[string]*storm.Assignment // what Nimbus said last; nil before it said anything
	pushes      int                          // how often Nimbus pushed
	saved       map[int]*storm.LocalAssignment
	cleared     bool                           // no worker of an earlier supervisor is left but those adopted
	ports       map[int]*port                  // by number
	given       map[int]*storm.LocalAssignment // what each port was told last
	start       func(*port)                    // runs a port; nil before Run
}

// Deps are what a supervisor is given to work with.
type Deps struct {
	// Cluster is closed by whoever opened it, after Run has ended.
	Cluster ClusterState
	// Files are those that connections of peers may take; nil is no bound but that on their number.
	Files *openfiles.Share
	// StateFiles are those that clients of keyed state may take.
	StateFiles *openfiles.Share
	Log        *zap.Logger
}

// New makes a supervisor. It opens nothing and starts nothing.
func New(cfg Config, deps Deps) (*Supervisor, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("configure supervisor: %w", err)
	}
	cfg.State.Files = deps.StateFiles
	cfg.State.FreeOnStop = cfg.KillWorkersOnStop
	logger := deps.Log.Named("supervisor")
	n := newNimbus(cfg)
	s := &Supervisor{
		cfg: cfg, state: deps.Cluster, log: logger, origin: time.Now(), nimbus: n,
		blobs: localizer.New(localizer.Config{
			Layout:     cfg.Layout,
			Threads:    int(cfg.Conf.Int(config.SupervisorBlobstoreDownloadThreadCount, 0)),
			CheckEvery: time.Duration(cfg.Conf.Int(config.SupervisorLocalizerUpdateBlobIntervalSecs, 0)) * time.Second,
			CleanEvery: time.Duration(cfg.Conf.Int(config.SupervisorLocalizerCleanupIntervalMs, 0)) * time.Millisecond,
			Tries:      int(cfg.Conf.Int(config.SupervisorBlobstoreDownloadMaxRetries, 0)),
			CacheBytes: cfg.Conf.Int(config.SupervisorLocalizerCacheTargetSizeMb, 0) << 20,
		}, n, logger),
		store: localstate.New(cfg.Layout.State(), time.Now, logger),
		workers: container.New(container.Config{
			Layout: cfg.Layout, Environ: withSocket(cfg.Environ, cfg.State), ClassData: cfg.Conf.Bool(config.GustWorkerCdsEnabled, true),
			OutputBytes: cfg.Conf.Int(config.GustSupervisorLogMaxBytes, 0),
			OutputKeep:  int(cfg.Conf.Int(config.GustSupervisorLogMaxFiles, 0)),
		}, logger),
		states: newStates(cfg.State, cfg.Hostname, deps.Cluster, logger.Named("state")),
		board:  newBoard(), poll: make(chan struct{}, 1), ready: make(chan struct{}),
		ports: map[int]*port{}, given: map[int]*storm.LocalAssignment{},
	}
	s.server = rpc.New(rpc.Config{
		Addr:    net.JoinHostPort(cfg.BindHost, strconv.Itoa(cfg.ThriftPort)),
		Workers: cfg.ThriftThreads, MaxFrame: cfg.MaxFrame, MaxRequest: maxFrame, Files: deps.Files,
		FrameKey: config.SupervisorThriftMaxBufferSize,
	}, storm.NewSupervisorProcessor(&service{s}), logger.Named("thrift"))
	return s, nil
}

// Ready is closed when Run has begun to serve.
func (s *Supervisor) Ready() <-chan struct{} { return s.ready }

// ID is the supervisor's id, "" before Ready.
func (s *Supervisor) ID() string { return s.id }

// Addr is where the Thrift server listens; an error before Ready.
func (s *Supervisor) Addr() (net.Addr, error) { return s.server.Listen() }

// Run serves until ctx ends or the machine is found unhealthy; in that case the error wraps ErrUnhealthy and no worker is
// left. Otherwise workers are left running, unless Config.KillWorkersOnStop says no.
// While another supervisor works in the same local folder, it waits.
func (s *Supervisor) Run(ctx context.Context) error {
	held, err := lock.Take(ctx, s.cfg.Layout.Supervisor(), func(busy *lock.BusyError) {
		s.log.Warn("another supervisor works in the same "+config.StormLocalDir+", waiting for its end",
			zap.String("dir", busy.Dir), zap.Int("pid", busy.PID))
	})
	if err != nil {
		return fmt.Errorf("start supervisor: %w", err)
	}
	err = s.run(ctx)
	return errors.Join(err, held.Release())
}

func (s *Supervisor) run(ctx context.Context) error {
	if err := s.prepare(); err != nil {
		return errors.Join(fmt.Errorf("start supervisor: %w", err), s.server.Close())
	}
	defer s.nimbus.close()
	// The watch over the processes and the state server outlive the ports, which end their workers on the way out.
	below, stopBelow := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBelow()
	var lower errgroup.Group
	lower.Go(func() error { return s.workers.Run(below) })
	lower.Go(func() error { return s.states.run(below, s.id) })
	s.workers.PrepareClassData(s.command(container.Command{}).Host)
	err := s.serve(ctx)
	stopBelow()
	return errors.Join(err, lower.Wait())
}

// serve runs everything that ends with ctx.
func (s *Supervisor) serve(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	s.mu.Lock()
	s.start = func(p *port) { group.Go(func() error { return p.run(ctx) }) }
	s.mu.Unlock()
	strays := s.recover(ctx)
	group.Go(func() error { return s.server.Run(ctx) })
	group.Go(func() error { return s.blobs.Run(ctx) })
	group.Go(func() error { return s.tellInfo(ctx) })
	group.Go(func() error { return s.tellBeats(ctx) })
	group.Go(func() error { return s.pollAssignments(ctx) })
	group.Go(func() error { return s.followProfiles(ctx) })
	group.Go(func() error {
		s.endStrays(ctx, strays)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cleared = true
		s.deliver()
		return nil
	})
	group.Go(func() error {
		err := s.cfg.Health.watch(ctx, s.log)
		if err != nil {
			s.giveUp()
		}
		return err
	})
	close(s.ready)
	s.log.Info("supervisor runs", zap.String("node", s.id), zap.Int("thrift_port", s.serverPort), zap.Ints("ports", s.cfg.Ports))
	return group.Wait()
}

// prepare makes the folders, reads the id and opens the Thrift port.
func (s *Supervisor) prepare() error {
	// JARs and what workers are started with may hold secrets; logs are for whoever looks after the machine.
	err := errors.Join(os.MkdirAll(s.cfg.Layout.Supervisor(), 0o750), os.MkdirAll(s.cfg.Layout.Workers(), 0o750),
		os.MkdirAll(s.cfg.Layout.Artifacts, 0o755))
	if err != nil {
		return err
	}
	if s.id, err = identity(localstate.New(s.cfg.Layout.ID(), time.Now, s.log)); err != nil {
		return err
	}
	if s.stormOptions, err = config.StormOptions(s.cfg.Overrides); err != nil {
		return fmt.Errorf("pass overrides on to workers: %w", err)
	}
	addr, err := s.server.Listen()
	if err != nil {
		return fmt.Errorf("open %s: %w", config.SupervisorThriftPort, err)
	}
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("listen on %s: not a TCP address", addr)
	}
	s.serverPort = tcp.Port
	return nil
}

// giveUp has all workers ended when the ports stop.
func (s *Supervisor) giveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.ports {
		p.killOnStop.Store(true)
	}
}
