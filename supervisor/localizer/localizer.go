// SPDX-License-Identifier: Apache-2.0

package localizer

// This file declares what a slot and the supervisor see of the localizer.

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/localstate"
)

// ErrNotFound is what a Nimbus wraps when it has no blob of that key.
var ErrNotFound = errors.New("no such blob")

// ErrIncomplete is what Adopt wraps when something that the topology needs is not on disk.
var ErrIncomplete = errors.New("not completely on disk")

// Nimbus is where blobs come from. It is called from several goroutines at once.
type Nimbus interface {
	// BlobVersion answers the current version of a blob (getBlobMeta). The error wraps ErrNotFound if there is none.
	BlobVersion(ctx context.Context, key string) (int64, error)
	// Download opens a blob (beginBlobDownload). The error wraps ErrNotFound if there is none.
	Download(ctx context.Context, key string) (*Blob, error)
}

// Blob is a download under way.
type Blob struct {
	// Version is the version being read.
	Version int64
	// Size is the number of bytes that Nimbus announced; a download that ends before or after it has failed.
	Size int64
	// Body gives the bytes. The localizer closes it.
	Body io.ReadCloser
}

// Config holds the localizer's settings; a zero field means the default named with it.
type Config struct {
	// Layout says where on disk things go.
	Layout localstate.Layout
	// Threads bounds downloads at a time: supervisor.blobstore.download.thread.count, 5.
	Threads int
	// Tries is how often a failed download is tried before Localize gives up: 3, the first RetryWait (100 ms) apart and each
	// wait twice the one before.
	Tries     int
	RetryWait time.Duration
	// CheckEvery is the time between two looks for new versions, CleanEvery that between two for unused blobs: 30 s both.
	CheckEvery, CleanEvery time.Duration
	// AgreeWithin bounds the wait for slots to agree to a change: 3 min.
	AgreeWithin time.Duration
	// CacheBytes is the size above which unused blobs that Nimbus still has are removed:
	// supervisor.localizer.cache.target.size.mb in bytes, 10 GiB.
	CacheBytes int64
	// MaxUnpackedBytes and MaxUnpackedEntries bound what one archive, or the resources of one jar, may unpack to: 8 GiB and
	// 200,000.
	MaxUnpackedBytes   int64
	MaxUnpackedEntries int
	// NoChecksums is set where versions do not come from content. Nimbus's own blob store gives a blob the CRC32C of its
	// content as version, so a version that fits 32 bits is checked against what was downloaded; the mtimes of other
	// stores, and of Storm before 2.5, are far above that. Set it for an own nimbus.blobstore.class that counts versions.
	NoChecksums bool
}

func (c Config) withDefaults() Config {
	setDefault(&c.Threads, 5)
	setDefault(&c.Tries, 3)
	setDefault(&c.RetryWait, 100*time.Millisecond)
	setDefault(&c.CheckEvery, 30*time.Second)
	setDefault(&c.CleanEvery, 30*time.Second)
	setDefault(&c.AgreeWithin, 3*time.Minute)
	setDefault(&c.CacheBytes, 10<<30)
	setDefault(&c.MaxUnpackedBytes, 8<<30)
	setDefault(&c.MaxUnpackedEntries, 200_000)
	return c
}

func setDefault[T int | int64 | time.Duration](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}

// Request names what a slot needs.
type Request struct {
	TopologyID string
	// Owner is the topology's owner; the user blobs lie in the owner's folder.
	Owner string
	// Port is the slot.
	Port int
	// Changed is called for each Change while the slot holds the topology, from the localizer's goroutines or, for a change
	// already under way, at the end of Localize. It must not block. It may be nil: then the slot agrees to everything.
	Changed func(*Change)
}

// Localizer keeps blobs on disk. It is safe for use by several goroutines.
type Localizer struct {
	cfg    Config
	nimbus Nimbus
	log    *zap.Logger

	downloads chan struct{} // one element for each download under way
	updates   errgroup.Group

	recoverOnce sync.Once
	recoverErr  error

	mu    sync.Mutex // guards what follows; never held during a download
	holds map[hold]*holder
	blobs map[string]*blob // by the path that identifies a blob on disk
}

// hold identifies a slot's claim on a topology.
type hold struct {
	topologyID string
	port       int
}

// holder is a claim and the blobs that it keeps.
type holder struct {
	request Request
	blobs   map[*blob]bool // the value says whether a change of the blob restarts the holder's worker
}

// New returns a localizer. It touches neither disk nor network.
func New(cfg Config, nimbus Nimbus, logger *zap.Logger) *Localizer {
	cfg = cfg.withDefaults()
	return &Localizer{
		cfg:       cfg,
		nimbus:    nimbus,
		log:       logger.Named("localizer"),
		downloads: make(chan struct{}, cfg.Threads),
		holds:     map[hold]*holder{},
		blobs:     map[string]*blob{},
	}
}

// Run looks for new versions and removes unused blobs until ctx ends; then it waits for its goroutines and returns nil.
// Localize and the other methods work without it, but nothing is kept current then.
func (l *Localizer) Run(ctx context.Context) error {
	if err := l.recover(); err != nil {
		return err
	}
	check, clean := time.NewTicker(l.cfg.CheckEvery), time.NewTicker(l.cfg.CleanEvery)
	defer check.Stop()
	defer clean.Stop()
	for {
		select {
		case <-ctx.Done():
			return l.updates.Wait()
		case <-check.C:
			l.check(ctx)
		case <-clean.C:
			l.clean(ctx)
		}
	}
}

// Localize brings everything that the topology needs to disk and keeps it there for the slot until Release. It may be
// called again by a slot that holds the topology, to learn what a change has brought. Nimbus is asked only for what is
// missing or not held by another slot; if it cannot be reached and all is on disk, that is used. On an error the slot
// holds what it held before, and the caller should wait and call again.
func (l *Localizer) Localize(ctx context.Context, req Request) (*Topology, error) {
	return l.localize(ctx, req, (*Localizer).ensure)
}

// Adopt is Localize for a worker that is running already: it uses what is on disk and asks nobody. The error wraps
// ErrIncomplete if something is missing.
func (l *Localizer) Adopt(ctx context.Context, req Request) (*Topology, error) {
	return l.localize(ctx, req, (*Localizer).present)
}

// Release gives up what the slot holds of the topology. A change that waits for the slot's agreement has it with that.
func (l *Localizer) Release(topologyID string, port int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := hold{topologyID, port}
	h, ok := l.holds[id]
	if !ok {
		return
	}
	delete(l.holds, id)
	for b := range h.blobs {
		l.drop(b, id)
	}
}

// Check looks for new versions now instead of at the next tick; Run need not be running.
func (l *Localizer) Check(ctx context.Context) { l.check(ctx) }
