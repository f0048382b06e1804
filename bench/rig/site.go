// SPDX-License-Identifier: Apache-2.0

// This file finds what is installed, and keeps a copy of gust of its own.

package rig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gust-stream/gust/internal/testbed"
)

// Main is the main class of the bench topology, in the JAR of topologies.
const Main = "org.gust.compat.Bench"

// Site is what clusters are started from.
type Site struct {
	Root      string // the checkout
	Home      string // Storm home of gust's workers and clients
	Stock     string // Storm home with stock's daemons
	Jar       string // the JAR of topologies
	Gust      string // a copy of the gust binary
	Storm     string // the same as "storm"
	Java      string // the java command
	Dir       string // holds everything that is written
	conf      string // folder with a storm.yaml that says nothing
	childopts map[string]string
}

// NewSite finds the parts in the checkout, which the make targets lay out, and
// prepares dir. The gust binary is copied, so that a build during a long run
// changes nothing and its pages are not shared with another gust.
func NewSite(ctx context.Context, dir string) (*Site, error) {
	root, err := testbed.Root()
	if err != nil {
		return nil, err
	}
	s := &Site{
		Root: root, Dir: dir,
		Gust: filepath.Join(dir, "bin", "gust"), Storm: filepath.Join(dir, "bin", "storm"),
		conf: filepath.Join(dir, "empty"), childopts: map[string]string{},
	}
	if s.Home, err = testbed.Home(); err != nil {
		return nil, err
	}
	if s.Stock, err = testbed.Stock(); err != nil {
		return nil, err
	}
	if s.Jar, err = testbed.Find("GUST_BENCH_JAR", filepath.Join("build", "topologies.jar"), "", "make topologies"); err != nil {
		return nil, err
	}
	if s.Java, err = exec.LookPath("java"); err != nil {
		return nil, fmt.Errorf("find java: %w", err)
	}
	if home := os.Getenv("JAVA_HOME"); home != "" {
		s.Java = filepath.Join(home, "bin", "java")
	}
	if err := os.MkdirAll(s.conf, 0o755); err != nil {
		return nil, fmt.Errorf("prepare %s: %w", dir, err)
	}
	if err := copyBinary(cmp.Or(os.Getenv("GUST_BIN"), filepath.Join(root, "bin", "gust")), s.Gust); err != nil {
		return nil, err
	}
	if err := os.Symlink("gust", s.Storm); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("prepare storm: %w", err)
	}
	for _, key := range []string{"nimbus.childopts", "supervisor.childopts"} {
		if s.childopts[key], err = s.confValue(ctx, s.conf, key); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func copyBinary(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy gust (make build makes it): %w", err)
	}
	defer func() { _ = in.Close() }() // only read
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("copy gust: %w", err)
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return fmt.Errorf("copy gust: %w", err)
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy gust: %w", err)
	}
	return nil
}

// confValue asks for one key the way Storm's script does: with a JVM.
func (s *Site) confValue(ctx context.Context, conf, key string) (string, error) {
	path := filepath.Join(s.Stock, "lib", "*") + ":" + filepath.Join(s.Stock, "extlib", "*") + ":" + conf
	cmd := exec.CommandContext(ctx, s.Java, "-client", "-Dstorm.options=", "-Dstorm.conf.file=", "-cp", path,
		"org.apache.storm.command.ConfigValue", key)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask for the value of %s: %w", key, err)
	}
	for line := range strings.Lines(string(out)) {
		if value, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "VALUE: "); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("ask for the value of %s: no value in %.200q", key, out)
}
