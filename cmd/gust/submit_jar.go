// SPDX-License-Identifier: Apache-2.0

// This file packs the resources of a topology as a JAR does.

package main

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/gust-stream/gust/config"
)

// packed is what went into a JAR.
type packed struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// pack writes a JAR with all of the topology's resources.
func (d *described) pack(out io.Writer) (packed, error) {
	p := &packer{zip: zip.NewWriter(out), names: map[string]bool{}}
	if err := d.packAll(p); err != nil {
		return packed{}, fmt.Errorf("pack the resources: %w", err)
	}
	if err := p.zip.Close(); err != nil {
		return packed{}, fmt.Errorf("pack the resources: %w", err)
	}
	return p.packed, nil
}

func (d *described) packAll(p *packer) error {
	if d.binary != "" {
		name := d.conf.String(config.GustTopologyGoBinary, "")
		if !fs.ValidPath(name) || name == "." {
			return fmt.Errorf("%s is %q, but it must be the binary's name below resources", config.GustTopologyGoBinary, name)
		}
		if err := p.file(name, 0o755, func() (io.ReadCloser, error) { return os.Open(d.binary) }); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		text := d.files[name]
		if err := p.file(name, 0o644, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }); err != nil {
			return err
		}
	}
	if d.dir == "" {
		if p.Files == 0 { // Storm's supervisor wants a file with an entry
			_, err := p.zip.Create("resources/")
			return err
		}
		return nil
	}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only read
	return p.folder(root)
}

// packer adds files below resources/.
type packer struct {
	packed

	zip   *zip.Writer
	names map[string]bool
}

func (p *packer) file(name string, mode fs.FileMode, open func() (io.ReadCloser, error)) error {
	if !fs.ValidPath(name) {
		return fmt.Errorf("%q is no name of a file", name)
	}
	if p.names[name] {
		return fmt.Errorf("two files are called %s", name)
	}
	p.names[name] = true
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	header := &zip.FileHeader{Name: path.Join("resources", name), Method: zip.Deflate}
	header.SetMode(mode)
	out, err := p.zip.CreateHeader(header)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.Files++
	p.Bytes += n
	return nil
}

// folder adds a folder with all below it, but not what Python and git keep there. Links are followed as long as they stay inside.
func (p *packer) folder(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); base == "__pycache__" || base == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		info, err := root.Stat(name)
		if err != nil {
			return err
		}
		switch {
		case info.IsDir():
			return fmt.Errorf("%s is a link to a folder", name)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is no file", name)
		}
		return p.file(name, info.Mode().Perm(), func() (io.ReadCloser, error) { return root.Open(name) })
	})
}
