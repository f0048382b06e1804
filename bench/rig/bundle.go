// SPDX-License-Identifier: Apache-2.0

// This file makes the JARs of the measured topologies: the same Python files in both, Java's classes in one, the Go program in the other.

package rig

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gust-stream/gust/multilang/component"
)

// Bundle is what topologies of both sides are submitted with.
type Bundle struct {
	Java, Go  string // JARs
	Python    string // an interpreter with storm.py's and pystorm's needs
	Resources string // folder with the Python files
	Children  string // folder with storm.py
}

// NewBundle builds the Go program of the bench and both JARs.
func (s *Site) NewBundle(ctx context.Context) (*Bundle, error) {
	children := filepath.Join(s.Root, "build", "multilang")
	b := &Bundle{
		Java: filepath.Join(s.Dir, "java.jar"), Go: filepath.Join(s.Dir, "go.jar"), Children: children,
		Python: filepath.Join(children, "venv", "bin", "python3"), Resources: filepath.Join(s.Root, "bench", "topology", "resources"),
	}
	program := filepath.Join(s.Dir, component.Binary)
	for _, argv := range [][]string{
		{filepath.Join(s.Root, "scripts", "multilang-children"), children},
		{"go", "build", "-o", program, "./topology"},
	} {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir = filepath.Join(s.Root, "bench")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("run %s: %w\n%s", strings.Join(argv, " "), err, out)
		}
	}
	if err := writeJar(b.Java, func(z *zip.Writer) error { return errors.Join(copyJar(z, s.Jar), addFiles(z, b.Resources)) }); err != nil {
		return nil, err
	}
	return b, writeJar(b.Go, func(z *zip.Writer) error {
		faults := []error{
			addFiles(z, b.Resources), addFile(z, filepath.Join(children, "storm.py"), 0o644), addFile(z, program, 0o755),
			addText(z, component.Binary+".sh", component.Launcher),
		}
		return errors.Join(faults...)
	})
}

func writeJar(path string, fill func(*zip.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("make JAR: %w", err)
	}
	z := zip.NewWriter(file)
	if err := errors.Join(fill(z), z.Close(), file.Close()); err != nil {
		return fmt.Errorf("make JAR %s: %w", path, err)
	}
	return nil
}

func copyJar(z *zip.Writer, from string) error {
	r, err := zip.OpenReader(from)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	for _, entry := range r.File {
		if err := z.Copy(entry); err != nil {
			return err
		}
	}
	return nil
}

func addFiles(z *zip.Writer, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.py"))
	for _, file := range files {
		err = errors.Join(err, addFile(z, file, 0o644))
	}
	return err
}

func addFile(z *zip.Writer, path string, mode os.FileMode) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	header := &zip.FileHeader{Name: "resources/" + filepath.Base(path), Method: zip.Deflate}
	header.SetMode(mode)
	out, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return err
}

func addText(z *zip.Writer, name, text string) error {
	out, err := z.Create("resources/" + name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}
