// SPDX-License-Identifier: Apache-2.0

// The inbox: the folder in which uploaded JARs lie until a submit takes a copy of them.

package nimbus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
)

// inbox is the folder of uploaded JARs.
type inbox struct{ dir string }

// create makes a new, empty file that nobody else can have prepared.
func (i inbox) create() (*os.File, error) {
	if err := os.MkdirAll(i.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make inbox: %w", err)
	}
	name := filepath.Join(i.dir, "stormjar-"+uuid.NewString()+".jar")
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a file in the inbox: %w", err)
	}
	return file, nil
}

// jar checks the location that a client names in a submit and returns the file behind it. Only a regular file that really lies in
// the inbox, after all links and ".." are resolved, is taken: anything else would hand out files of this machine.
func (i inbox) jar(location string) (string, error) {
	if location == "" {
		return "", invalid("No JAR was uploaded for the topology: its location is empty")
	}
	root, err := filepath.EvalSymlinks(i.dir)
	if err != nil {
		return "", invalid("Uploaded JAR '%s' does not exist", location)
	}
	path, err := filepath.EvalSymlinks(location)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// What lies outside must look the same whether it exists or not.
		if !inside(filepath.Clean(i.dir), filepath.Clean(location)) {
			return "", outside(location)
		}
		return "", invalid("Uploaded JAR '%s' does not exist", location)
	case err != nil:
		return "", outside(location)
	case !inside(root, path):
		return "", outside(location)
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", invalid("Uploaded JAR '%s' is not a file", location)
	}
	return path, nil
}

func outside(location string) error {
	return invalid("Uploaded JAR '%s' is not in the inbox of Nimbus", location)
}

// inside says whether path lies below dir; both are clean and absolute.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel) && rel != "."
}

// clean removes JARs that are older than limit and returns how many it removed.
func (i inbox) clean(limit time.Duration, now time.Time) (int, error) {
	entries, err := os.ReadDir(i.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("clean inbox: %w", err)
	}
	removed := 0
	var faults []error
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(entry.Name(), ".jar") || now.Sub(info.ModTime()) < limit {
			continue
		}
		if err := os.Remove(filepath.Join(i.dir, entry.Name())); err != nil {
			faults = append(faults, err)
			continue
		}
		removed++
	}
	return removed, errors.Join(faults...)
}
