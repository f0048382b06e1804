// SPDX-License-Identifier: Apache-2.0

// Nimbus as a whole: what it is made of, and its start and stop.

package nimbus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/lock"
	"github.com/gust-stream/gust/internal/openfiles"
	"github.com/gust-stream/gust/nimbus/blobstore"
	"github.com/gust-stream/gust/nimbus/scheduler"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// Bounds on transfers that are open at once.
const (
	maxTransfers = 4096
	maxListings  = 1024
)

// Deps are what Nimbus works with. Cluster and Blobs are open already and are closed by whoever opened them.
type Deps struct {
	// Cluster is the session with the cluster state.
	Cluster *cluster.State
	// Blobs is the blob store; Run loads it.
	Blobs *blobstore.Store
	// Files are the files that this process may have open; nil is no bound but those on numbers.
	Files *openfiles.Pool
	// Log is where it logs to.
	Log *zap.Logger
	// Now is the clock; nil is time.Now. Ages use its monotonic reading.
	Now func() time.Time
}

// Nimbus takes in topologies, decides where they run and answers for them: Storm's Thrift service of that name, and the loop that
// schedules. It is safe for concurrent use.
type Nimbus struct {
	cfg     Config
	cluster *cluster.State
	blobs   *blobstore.Store
	log     *zap.Logger
	now     func() time.Time

	server  *rpc.Server
	model   *model
	live    *liveness
	inbox   inbox
	history *history
	delays  delays
	pusher  *pusher

	uploads       *sessions[*os.File]
	blobUploads   *sessions[*blobUpload]
	blobDownloads *sessions[*blobstore.Blob]
	blobLists     *sessions[[]string]

	started   time.Time
	submitted atomic.Int64
	leader    atomic.Bool
	self      cluster.NimbusID // set once the port is known, before the first call

	// wake makes the owner look around; needPass says that it should schedule.
	wake     chan struct{}
	needPass atomic.Bool
	// elections tells the goroutine that stands to look at the election.
	elections chan struct{}
	// suspects goes from the owner to the prober.
	suspects chan map[string]bool
	// changing is held while the state of a topology is read, changed and written: calls and the owner both do that.
	changing sync.Mutex
	// reconciled says that the folder of blobs was compared with the cluster state; only the goroutine that stands reads and writes it.
	reconciled bool
	// owner is what only the owner goroutine touches.
	owner ownerState
}

// ownerState belongs to the owner goroutine.
type ownerState struct {
	judged    judgement
	blacklist scheduler.Blacklist
	lastTick  time.Time
	// restUntil is when the next pass may begin.
	restUntil time.Time
}

// New makes a Nimbus; it opens and starts nothing.
func New(cfg Config, deps Deps) *Nimbus {
	now := deps.Now
	if now == nil {
		now = time.Now
	}
	log := deps.Log.Named("nimbus")
	n := &Nimbus{
		cfg:     cfg,
		cluster: deps.Cluster,
		blobs:   deps.Blobs,
		log:     log,
		now:     now,
		model:   newModel(),
		live:    newLiveness(now()),
		inbox:   inbox{dir: filepath.Join(cfg.LocalDir, "nimbus", "inbox")},
		history: newHistory(filepath.Join(cfg.LocalDir, "nimbus", "history"), log),
		started: now(),
		wake:    make(chan struct{}, 1),

		suspects:  make(chan map[string]bool),
		elections: make(chan struct{}, 1),
	}
	share := func() *openfiles.Share {
		if deps.Files == nil {
			return nil
		}
		return deps.Files.Share()
	}
	n.uploads = newSessions(cfg.SessionTimeout, maxTransfers, share(), dropUpload)
	n.blobUploads = newSessions(cfg.SessionTimeout, maxTransfers, share(), func(u *blobUpload) { u.upload.Abort() })
	n.blobDownloads = newSessions(cfg.SessionTimeout, maxTransfers, share(), func(b *blobstore.Blob) { _ = b.Close() })
	n.blobLists = newSessions(cfg.SessionTimeout, maxListings, nil, func([]string) {})
	n.pusher = newPusher(n.log, n.findTarget)
	server := cfg.Server
	server.Files = share()
	server.MaxEncoded = rpc.LargeFrame
	server.Encoded = n.encoded()
	n.server = rpc.New(server, storm.NewNimbusProcessor(n), n.log.Named("thrift"))
	return n
}

// Listen binds the Thrift port and returns its address; calls are answered once Run runs. Called again it returns the same address.
func (n *Nimbus) Listen() (net.Addr, error) {
	addr, err := n.server.Listen()
	if err != nil {
		return nil, fmt.Errorf("nimbus: open %s: %w", config.NimbusThriftPort, err)
	}
	return addr, nil
}

// Ready says whether this Nimbus leads and has read the cluster state, so that all calls are answered.
func (n *Nimbus) Ready() bool { return n.leader.Load() && n.model.isLoaded() }

// Run serves until ctx ends or the cluster state is closed. It may be called once. While another Nimbus works in the same local
// folder, it waits.
func (n *Nimbus) Run(ctx context.Context) error {
	held, err := lock.Take(ctx, filepath.Join(n.cfg.LocalDir, "nimbus"), func(busy *lock.BusyError) {
		n.log.Warn("another nimbus works in the same "+config.StormLocalDir+", waiting for its end",
			zap.String("dir", busy.Dir), zap.Int("pid", busy.PID))
	})
	if err != nil {
		return errors.Join(fmt.Errorf("nimbus: %w", err), n.server.Close())
	}
	err = n.run(ctx)
	return errors.Join(err, held.Release())
}

func (n *Nimbus) run(ctx context.Context) error {
	addr, err := n.Listen()
	if err != nil {
		return err
	}
	n.log.Info("nimbus listens", zap.Stringer("address", addr))
	n.self = cluster.NimbusID{Host: n.cfg.Host, Port: portOf(addr), TLSPort: n.cfg.TLSPort}
	if err := n.blobs.Load(); err != nil {
		return errors.Join(fmt.Errorf("nimbus: %w", err), n.server.Close())
	}
	if err := n.history.load(); err != nil {
		n.log.Warn("history of topologies not readable, a new one is begun", zap.Error(err))
	}
	defer n.closeTransfers()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return n.server.Run(ctx) })
	group.Go(func() error { return n.stand(ctx) })
	group.Go(func() error { return n.followSupervisors(ctx) })
	group.Go(func() error { return n.own(ctx) })
	group.Go(func() error { return n.probe(ctx) })
	group.Go(func() error { return n.clean(ctx) })
	group.Go(func() error { return n.pusher.run(ctx) })
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("nimbus: %w", err)
	}
	return nil
}

func (n *Nimbus) closeTransfers() {
	n.uploads.close()
	n.blobUploads.close()
	n.blobDownloads.close()
	n.blobLists.close()
}

// schedule asks the owner for a scheduling pass.
func (n *Nimbus) schedule() {
	n.needPass.Store(true)
	n.stir()
}

// stir makes the owner look at what is due.
func (n *Nimbus) stir() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// assertLeader refuses what only the leader may do.
func (n *Nimbus) assertLeader() error {
	if !n.leader.Load() {
		return errNotLeader
	}
	return n.ready()
}

// ready refuses what cannot be answered before the cluster state is known.
func (n *Nimbus) ready() error {
	if !n.model.isLoaded() {
		return errNotReady
	}
	return nil
}

func portOf(addr net.Addr) int {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}
