// SPDX-License-Identifier: Apache-2.0

// This file builds and runs the programs that measure state tables, each time in a process of its own.

package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// StatePrograms are the programs, built.
type StatePrograms struct {
	site   *Site
	binary string
}

// Figure is one line of what they print.
type Figure struct {
	Name    string  `json:"name"`
	Entries uint64  `json:"entries"`
	Value   float64 `json:"value"`
}

// NewStatePrograms builds both.
func (s *Site) NewStatePrograms(ctx context.Context) (*StatePrograms, error) {
	p := &StatePrograms{site: s, binary: filepath.Join(s.Dir, "statetable")}
	for _, argv := range [][]string{
		{"go", "build", "-o", p.binary, "./statetable"},
		{filepath.Join(filepath.Dir(s.Java), "javac"), "-d", s.Dir, filepath.Join("statetable", "StateSizes.java")},
	} {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir = filepath.Join(s.Root, "bench")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("run %s: %w\n%s", strings.Join(argv, " "), err, out)
		}
	}
	return p, nil
}

// Go runs the one in Go.
func (p *StatePrograms) Go(ctx context.Context, args ...string) ([]Figure, error) {
	return figures(exec.CommandContext(ctx, p.binary, args...))
}

// Java runs StateSizes with a heap of at most this size; what follows the third argument goes on the class path.
func (p *StatePrograms) Java(ctx context.Context, heap, load, from, to string, classPath ...string) ([]Figure, error) {
	path := strings.Join(append([]string{p.site.Dir}, classPath...), ":")
	return figures(exec.CommandContext(ctx, p.site.Java, "-Xmx"+heap, "-XX:+UseParallelGC", "-cp", path, "StateSizes", load, from, to))
}

func figures(cmd *exec.Cmd) (all []Figure, err error) {
	var faults bytes.Buffer
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w\n%s", strings.Join(cmd.Args, " "), err, faults.Bytes())
	}
	for line := range bytes.Lines(out) {
		var f Figure
		if err := json.Unmarshal(line, &f); err != nil {
			return nil, fmt.Errorf("read what %s prints: %w", cmd.Path, err)
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("run %s: %w", strings.Join(cmd.Args, " "), errors.New("it printed nothing"))
	}
	return all, nil
}
