// SPDX-License-Identifier: Apache-2.0

// Command gen makes keys_gen.go and docs/config.md from keys.yaml and gust.yaml. Run it from the root of the module:
//
//	go run ./config/gen          writes the two files
//	go run ./config/gen -check   fails if they are not what would be written
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	check := flag.Bool("check", false, "compare, do not write")
	root := flag.String("root", ".", "root folder of the module")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	t, err := readTable(filepath.Join(root, "config", "keys.yaml"), filepath.Join(root, "config", "gust.yaml"))
	if err != nil {
		return err
	}
	if err := findReaders(root, t.Keys); err != nil {
		return err
	}
	code, err := goSource(t)
	if err != nil {
		return err
	}
	for _, out := range []struct {
		path string
		data []byte
	}{
		{filepath.Join(root, "config", "keys_gen.go"), code},
		{filepath.Join(root, "docs", "config.md"), page(t)},
	} {
		have, err := os.ReadFile(out.path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("read the last version: %w", err)
		}
		if bytes.Equal(have, out.data) {
			continue
		}
		if check {
			return fmt.Errorf("%s is out of date: run go run ./config/gen", out.path)
		}
		if err := os.MkdirAll(filepath.Dir(out.path), 0o755); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
		if err := os.WriteFile(out.path, out.data, 0o644); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}
