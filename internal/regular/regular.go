// SPDX-License-Identifier: Apache-2.0

// Package regular opens files that have to be regular files: those of a store, and others whose names the program chose.
//
// A pipe in such a place would hold up the open until somebody writes to it, and a device could do anything. Here both are
// an error that says what lies there. A symbolic link to a regular file is taken. The package stands for no Storm class; every
// package that keeps files uses it.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNot is what is found in the error when something else than a regular file lies in a file's place.
var ErrNot = errors.New("not a regular file")

// Open opens a file for reading.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile opens a file as os.OpenFile does, and never waits for whoever is at the other end of what is no file.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	// Looked at before it is opened: to open a device may already have an effect.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, not(path, info.Mode())
	}
	// And after that again: it may have been put there meanwhile. Without O_NONBLOCK the open of a pipe would wait; reads and
	// writes of a regular file are the same with it.
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = not(path, info.Mode())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadFile returns the content of a file.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	return io.ReadAll(f)
}

// SyncDir makes the names in a folder durable: of new files, of renamed ones, and that others are gone.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func not(path string, mode fs.FileMode) error {
	return fmt.Errorf("%s is %s: %w; move it away", path, kind(mode), ErrNot)
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "of type " + mode.Type().String()
}
