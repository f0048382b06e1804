// SPDX-License-Identifier: Apache-2.0

package container

// This file starts workers, finds those that run already, and owns the goroutines that watch them.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/localstate"
)

// Config holds a launcher's settings; a zero field means the default named with it.
type Config struct {
	// Layout says where on disk workers live.
	Layout localstate.Layout
	// Environ is the environment that workers inherit, as os.Environ gives it.
	Environ []string
	// OutputBytes is the size at which worker.log.out and worker.log.err are cut, OutputKeep how many compressed older
	// parts stay, OutputEvery the time between two looks: 4 MiB, 4 and 1 s.
	OutputBytes int64
	OutputKeep  int
	OutputEvery time.Duration
	// ClassData lets the launcher make and use class-data archives.
	ClassData bool
}

func (c Config) withDefaults() Config {
	if c.OutputBytes == 0 {
		c.OutputBytes = 4 << 20
	}
	if c.OutputKeep == 0 {
		c.OutputKeep = 4
	}
	if c.OutputEvery == 0 {
		c.OutputEvery = time.Second
	}
	return c
}

// Launcher starts and adopts workers. It is safe for use by several goroutines.
type Launcher struct {
	cfg      Config
	log      *zap.Logger
	archives *archives

	mu      sync.Mutex // guards what follows
	workers map[*Worker]bool
	watch   *watch // nil before Run and after it
}

// New returns a launcher. It touches neither disk nor processes.
func New(cfg Config, logger *zap.Logger) *Launcher {
	log := logger.Named("container")
	return &Launcher{
		cfg: cfg.withDefaults(), log: log, workers: map[*Worker]bool{},
		archives: newArchives(cfg.Layout, cfg.Environ, log),
	}
}

// Run watches the workers, bounds their output and makes class-data archives, until ctx ends. It returns nil then; the
// workers go on running. Worker.Done is only closed while Run runs.
func (l *Launcher) Run(ctx context.Context) error {
	w, err := newWatch()
	if err != nil {
		return fmt.Errorf("watch workers: %w", err)
	}
	l.mu.Lock()
	l.watch = w
	l.mu.Unlock()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return w.run(ctx, l.running) })
	group.Go(func() error { return l.boundOutputs(ctx) })
	if l.cfg.ClassData {
		group.Go(func() error { return l.archives.run(ctx) })
	}
	err = group.Wait()
	l.mu.Lock()
	l.watch = nil
	l.mu.Unlock()
	return errors.Join(err, w.close())
}

// running lists the workers whose processes have not ended.
func (l *Launcher) running() []*Worker {
	l.mu.Lock()
	defer l.mu.Unlock()
	workers := make([]*Worker, 0, len(l.workers))
	for w := range l.workers {
		workers = append(workers, w)
	}
	return workers
}

func (l *Launcher) add(w *Worker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers[w] = true
	if l.watch != nil {
		l.watch.wake()
	}
}

func (l *Launcher) remove(w *Worker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.workers, w)
}

// Launch lays out the worker's folder and starts the worker. The topology's blobs must be on disk. It returns as soon as the
// process exists, which says nothing about how far it will come: watch Worker.Done and Worker.Heartbeat. The caller has
// written the worker id into the approved workers before, so that a crash in between leaves no unknown worker.
func (l *Launcher) Launch(cmd Command) (*Worker, error) {
	w, err := l.launch(cmd)
	if err != nil {
		return nil, fmt.Errorf("launch worker %s: %w", cmd.WorkerID, err)
	}
	l.log.Info("worker started", zap.String("worker_id", w.id), zap.String("topology_id", cmd.Topology.ID),
		zap.Int("port", cmd.Port), zap.Int("pid", w.main.pid))
	return w, nil
}

func (l *Launcher) launch(cmd Command) (*Worker, error) {
	if err := checkNames(cmd); err != nil {
		return nil, err
	}
	if cmd.Program == "" {
		if l.cfg.ClassData && cmd.Archive == nil {
			cmd.Archive = l.archives.find(cmd.Host)
		}
		if err := useConfDirCopy(l.cfg.Layout, &cmd.Host); err != nil {
			return nil, err
		}
	}
	invocation, err := cmd.Build()
	if err != nil {
		return nil, err
	}
	path, err := exec.LookPath(invocation.Path)
	if err != nil {
		return nil, err
	}
	w := l.newWorker(cmd.WorkerID)
	err = setUp(l.cfg.Layout, cmd)
	if err == nil && cmd.Program != "" {
		err = cmd.writeGoWorker(l.cfg.Layout)
	}
	if err == nil {
		err = w.start(path, invocation, l.cfg.Environ, filepath.Join(l.cfg.Layout.Worker(w.id), "artifacts"), nil)
	}
	if err != nil {
		w.finish(Exit{})
		return nil, errors.Join(err, w.CleanUp()) // each try has a new id: what it left would pile up
	}
	l.add(w)
	return w, nil
}

// PrepareClassData has the class-data archive for a Storm home and JDK made, if Config.ClassData allows it and it is not there
// yet, so that it is ready before the first worker. It returns at once; Run does the work.
func (l *Launcher) PrepareClassData(host Host) {
	if l.cfg.ClassData {
		l.archives.find(host)
	}
}

// checkNames refuses what may not become part of a path.
func checkNames(cmd Command) error {
	return errors.Join(
		localstate.CheckName("worker id", cmd.WorkerID),
		localstate.CheckName("topology id", cmd.Topology.ID),
	)
}

// Adopt returns the worker of that id as it is now. If its process runs, Done tells its end from now on, as for one that was
// started here; if not, Done is closed already, and Kill and CleanUp remove what is left of it.
func (l *Launcher) Adopt(workerID string) (*Worker, error) {
	if err := localstate.CheckName("worker id", workerID); err != nil {
		return nil, fmt.Errorf("adopt worker: %w", err)
	}
	w := l.newWorker(workerID)
	main, ok, err := findMain(workerID)
	if err != nil {
		return nil, fmt.Errorf("adopt worker %s: %w", workerID, err)
	}
	if ok {
		w.main = main
		w.handle, ok = openProcess(main)
	}
	if !ok {
		w.finish(Exit{})
		return w, nil
	}
	l.log.Info("worker adopted", zap.String("worker_id", workerID), zap.Int("pid", main.pid))
	l.add(w)
	return w, nil
}

// ListWorkers lists the ids of all workers that have a folder, sorted. Names that are no worker ids are passed over.
func (l *Launcher) ListWorkers() ([]string, error) {
	entries, err := os.ReadDir(l.cfg.Layout.Workers())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	var ids []string
	for _, entry := range entries {
		if entry.IsDir() {
			ids = append(ids, entry.Name())
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func (l *Launcher) newWorker(workerID string) *Worker {
	return &Worker{
		l: l, id: workerID, done: make(chan struct{}),
		beats: localstate.NewHeartbeatReader(l.cfg.Layout.WorkerHeartbeats(workerID), time.Now),
	}
}

// start executes the invocation in a session of its own, with its output in files in the folder artifacts. Its input is
// empty if stdin is nil.
func (w *Worker) start(path string, invocation *Invocation, environ []string, artifacts string, stdin *os.File) (err error) {
	dir := w.l.cfg.Layout.Worker(w.id)
	var files []*os.File
	defer func() {
		for _, f := range files {
			if cerr := f.Close(); err == nil {
				err = cerr
			}
		}
	}()
	for _, open := range []struct {
		path string
		flag int
	}{
		{os.DevNull, os.O_RDONLY},
		{filepath.Join(artifacts, outputName), os.O_WRONLY | os.O_APPEND | os.O_CREATE},
		{filepath.Join(artifacts, errorName), os.O_WRONLY | os.O_APPEND | os.O_CREATE},
	} {
		// Without waiting for a reader, should a worker have put a pipe there; the descriptor that it gets blocks again.
		f, err := os.OpenFile(open.path, open.flag|syscall.O_NONBLOCK, 0o644)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	std := slices.Clone(files)
	if stdin != nil {
		std[0] = stdin
	}
	process, err := os.StartProcess(path, append([]string{path}, invocation.Args...), &os.ProcAttr{
		Dir: dir, Env: mergeEnv(environ, invocation.Env), Files: std, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return err
	}
	w.process = process
	// The child is not waited for yet, so its pid cannot be anybody else's.
	if w.main, err = identify(process.Pid); err != nil {
		killed := process.Kill()
		_, waited := process.Wait()
		return errors.Join(err, killed, waited)
	}
	w.handle, _ = openProcess(w.main) // not there any more: the watch finds that out
	return nil
}

// mergeEnv puts the variables in set over environ.
func mergeEnv(environ []string, set map[string]string) []string {
	merged := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := cutEnv(entry)
		_, ok := set[name]
		return ok
	})
	for name, value := range set {
		merged = append(merged, name+"="+value)
	}
	slices.Sort(merged[len(merged)-len(set):])
	return merged
}
