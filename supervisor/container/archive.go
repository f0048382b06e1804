// SPDX-License-Identifier: Apache-2.0

package container

// This file finds class-data archives, and has missing ones made in the background.

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/localstate"
)

// classList names the classes that a worker of the reference version loaded until its spout was open, recorded with
// -XX:DumpLoadedClassList. Names that another version does not have are passed over by the JVM.
//
//go:embed classlist.txt
var classList string

// archiveFormat is part of an archive's name: raise it when the way of making them changes.
const archiveFormat = "1"

// Archive is a class-data archive that a JVM maps instead of reading and checking Storm's classes.
type Archive struct {
	// File is the archive.
	File string
	// Jars are the jars that it was made over, in the order in which they must begin the worker's class path.
	Jars []string
}

// archives keeps one archive for each Storm home and JDK, as files:
//
//	<key>.jsa      the archive
//	<key>.failed   what the JVM said when none could be made; it is not tried again
//	lock           held by the process that makes one
//
// The key stands for the JDK and for the names, sizes and times of the jars, so that a changed home gets a new archive.
type archives struct {
	dir     string
	environ []string
	log     *zap.Logger
	wanted  chan archiveSpec
}

// archiveSpec is an archive that can be made.
type archiveSpec struct {
	key  string
	java string
	jars []string
}

func newArchives(layout localstate.Layout, environ []string, log *zap.Logger) *archives {
	return &archives{dir: layout.ClassData(), environ: environ, log: log, wanted: make(chan archiveSpec, 4)}
}

// find returns the archive for a host's Storm home and JDK if it is ready, and else sees to it that it is made. It is quick
// and has no errors: a worker without an archive starts too.
func (a *archives) find(host Host) *Archive {
	spec, err := newArchiveSpec(host)
	if err != nil {
		a.log.Debug("no class-data archive possible", zap.Error(err))
		return nil
	}
	if exists(a.file(spec)) {
		return &Archive{File: a.file(spec), Jars: spec.jars}
	}
	if !exists(a.failed(spec)) {
		select {
		case a.wanted <- spec:
		default: // enough is wanted already; the next worker asks again
		}
	}
	return nil
}

func (a *archives) file(spec archiveSpec) string   { return filepath.Join(a.dir, spec.key+".jsa") }
func (a *archives) failed(spec archiveSpec) string { return filepath.Join(a.dir, spec.key+".failed") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func newArchiveSpec(host Host) (archiveSpec, error) {
	java, err := exec.LookPath(Command{Host: host}.java())
	if err != nil {
		return archiveSpec{}, err
	}
	jars, err := filepath.Glob(filepath.Join(host.StormHome, "lib-worker", "*.jar"))
	if err != nil || len(jars) == 0 {
		return archiveSpec{}, errors.Join(err, fmt.Errorf("no jars in %s/lib-worker", host.StormHome))
	}
	slices.Sort(jars)
	sum := sha256.New()
	add := func(path string) error {
		info, err := os.Stat(path)
		if err == nil {
			_, err = fmt.Fprintf(sum, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	}
	if _, err := fmt.Fprintln(sum, archiveFormat, len(classList)); err != nil {
		return archiveSpec{}, err
	}
	binary, err := filepath.EvalSymlinks(java)
	if err != nil {
		return archiveSpec{}, err
	}
	// The launcher is the same in many releases of a JDK, the virtual machine is not.
	faults := []error{add(binary)}
	if vm := filepath.Join(filepath.Dir(filepath.Dir(binary)), "lib", "server", "libjvm.so"); exists(vm) {
		faults = append(faults, add(vm))
	}
	for _, jar := range jars {
		faults = append(faults, add(jar))
	}
	if err := errors.Join(faults...); err != nil {
		return archiveSpec{}, err
	}
	return archiveSpec{key: hex.EncodeToString(sum.Sum(nil)[:8]), java: binary, jars: jars}, nil
}

// run makes archives as they are asked for, until ctx ends.
func (a *archives) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case spec := <-a.wanted:
			err := a.provide(ctx, spec)
			if err != nil && ctx.Err() == nil {
				a.log.Info("workers start without a class-data archive", zap.String("java", spec.java), zap.Error(err))
			}
		}
	}
}

// provide makes the archive unless it is there, was tried, or is being made by another process.
func (a *archives) provide(ctx context.Context, spec archiveSpec) error {
	if err := os.MkdirAll(a.dir, 0o755); err != nil {
		return err
	}
	unlock, ok, err := tryLock(filepath.Join(a.dir, "lock"))
	if err != nil || !ok {
		return err
	}
	defer unlock()
	if exists(a.file(spec)) || exists(a.failed(spec)) {
		return nil
	}
	if err := a.dropOld(); err != nil {
		return err
	}
	err = a.make(ctx, spec)
	if broken, ok := errors.AsType[*archiveError](err); ok && ctx.Err() == nil {
		return errors.Join(err, localstate.WriteFile(a.failed(spec), []byte(broken.Error()+"\n"), 0o644))
	}
	return err
}

// keepArchives is how many older archives stay beside a new one; each takes some 40 MB.
const keepArchives = 2

// dropOld removes what crashes left, and the oldest archives. A JVM that has one mapped goes on.
func (a *archives) dropOld() error {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return err
	}
	var old []fs.FileInfo
	for _, entry := range entries {
		info, err := entry.Info()
		switch {
		case err != nil:
		case strings.HasPrefix(entry.Name(), localstate.TempPrefix):
			err = os.RemoveAll(filepath.Join(a.dir, entry.Name()))
		case strings.HasSuffix(entry.Name(), ".jsa"):
			old = append(old, info)
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(old, func(x, y fs.FileInfo) int { return y.ModTime().Compare(x.ModTime()) })
	for _, info := range old[min(keepArchives, len(old)):] {
		if err := os.Remove(filepath.Join(a.dir, info.Name())); err != nil {
			return err
		}
	}
	return nil
}
