// SPDX-License-Identifier: Apache-2.0

package localstate

// This file is how a supervisor asks a Go worker for a profile: a file in the worker's folder and a signal. A Java worker is asked
// by the JDK's tools.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Profile is one request for a profile.
type Profile struct {
	// Action is what is asked for, by the name that Storm gives it.
	Action string `json:"action"`
	// File is where the result goes.
	File string `json:"file"`
	// Fault is why it could not be done; the worker sets it.
	Fault string `json:"fault,omitempty"`
	// Done says that the worker has dealt with it.
	Done bool `json:"done,omitempty"`
}

// profilePrefix begins the names of requests in a worker's folder.
const profilePrefix = "gust-profile-"

// AskProfile writes a request into a worker's folder and gives its path. The worker looks when it gets SIGUSR1.
func AskProfile(workerDir string, p Profile) (path string, err error) {
	name := filepath.Base(TempName(workerDir, ""))
	path = filepath.Join(workerDir, profilePrefix+strings.TrimPrefix(name, TempPrefix))
	return path, p.write(path)
}

// Profiles gives the requests in a worker's folder that were not dealt with, by path.
func Profiles(workerDir string) (map[string]Profile, error) {
	paths, err := filepath.Glob(filepath.Join(workerDir, profilePrefix+"*"))
	if err != nil {
		return nil, err
	}
	found := map[string]Profile{}
	for _, path := range paths {
		p, err := ReadProfile(path)
		if errors.Is(err, fs.ErrNotExist) || (err == nil && p.Done) {
			continue
		}
		if err != nil {
			return found, err
		}
		found[path] = p
	}
	return found, nil
}

// ReadProfile reads a request.
func ReadProfile(path string) (Profile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Profile{}, err
	}
	var p Profile
	if err := json.Unmarshal(text, &p); err != nil {
		return Profile{}, fmt.Errorf("read %s: %w", path, err)
	}
	return p, nil
}

// Finish notes how a request was dealt with.
func (p Profile) Finish(path string, fault error) error {
	p.Done = true
	if fault != nil {
		p.Fault = fault.Error()
	}
	return p.write(path)
}

func (p Profile) write(path string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return WriteFile(path, text, 0o600)
}
