// SPDX-License-Identifier: Apache-2.0

package container

// This file makes a class-data archive with the JDK's own means.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/localstate"
)

// archiveTimeout bounds the making of one archive; it takes some seconds of one processor.
const archiveTimeout = 5 * time.Minute

// archiveError says that this JDK makes no archive of these jars, so that trying again would not help.
type archiveError struct {
	args   []string
	output string
	err    error
}

func (e *archiveError) Error() string {
	return fmt.Sprintf("java %s: %v: %s", e.args[0], e.err, strings.TrimSpace(e.output))
}

func (e *archiveError) Unwrap() error { return e.err }

// make writes the archive under a temporary name, has a JVM accept it, and gives it its name.
func (a *archives) make(ctx context.Context, spec archiveSpec) error {
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	start := time.Now()
	work := localstate.TempName(a.dir, spec.key)
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // what stays is removed by dropOld
	list, archive := filepath.Join(work, "classes"), filepath.Join(work, "archive")
	if err := os.WriteFile(list, []byte(allClasses(spec.java)), 0o600); err != nil {
		return err
	}
	classPath := strings.Join(spec.jars, ":")
	// Only G1 puts objects of the JDK's own start into the archive; every collector can use them.
	err := a.java(ctx, spec.java, work, "-Xshare:dump", "-XX:SharedClassListFile="+list, "-XX:SharedArchiveFile="+archive,
		"-XX:+UseG1GC", "-Xmx256m", "-cp", classPath)
	if err != nil {
		return err
	}
	if err := a.java(ctx, spec.java, work, "-Xshare:on", "-XX:SharedArchiveFile="+archive, "-cp", classPath+":"+work, "-version"); err != nil {
		return err
	}
	info, err := os.Stat(archive)
	if err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(archive, 0o644), os.Rename(archive, a.file(spec)), regular.SyncDir(a.dir)); err != nil {
		return err
	}
	a.log.Info("class-data archive made", zap.String("file", a.file(spec)), zap.Int64("bytes", info.Size()),
		zap.Duration("took", time.Since(start)))
	return nil
}

// allClasses is the list of the JDK's own common classes, if it has one, and ours.
func allClasses(java string) string {
	own, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(java)), "lib", "classlist"))
	if err != nil {
		return classList // ours holds the JDK's classes of the reference version
	}
	return string(own) + "\n" + classList
}

// java runs a JVM with the lowest priority, for workers may be starting at the same time.
func (a *archives) java(ctx context.Context, java, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, java, args...)
	cmd.Dir, cmd.Env = dir, a.environ
	output := &tailBuffer{}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, cmd.Process.Pid, 19) // at normal priority it works too
	if err := cmd.Wait(); err != nil {
		return &archiveError{args: args, output: string(output.tail), err: err}
	}
	return nil
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer struct{ tail []byte }

const tailBytes = 4096

func (b *tailBuffer) Write(p []byte) (int, error) {
	b.tail = append(b.tail, p...)
	if n := len(b.tail); n > tailBytes {
		b.tail = append(b.tail[:0], b.tail[n-tailBytes:]...)
	}
	return len(p), nil
}

// tryLock takes the lock if nobody has it. The kernel gives it back when the process ends, however that happens.
func tryLock(path string) (unlock func(), ok bool, err error) {
	f, err := regular.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, false, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, false, f.Close()
	}
	if err != nil {
		return nil, false, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, true, nil // closing gives the lock back
}
