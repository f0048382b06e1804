// SPDX-License-Identifier: Apache-2.0

package localizer

// This file unpacks jars, zips and tars. Whoever uploads an archive is not trusted: nothing is written, linked or later
// readable outside the folder, and size and number of entries are bounded.

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/localstate"
)

// errRefused marks an archive that must not be unpacked; trying again would not help.
var errRefused = errors.New("archive refused")

type limits struct {
	bytes   int64
	entries int
}

// formatOf tells from a blob's key how it is unpacked: "zip", "tar", "tgz", or "" for not at all.
func formatOf(key string) string {
	key = strings.ToLower(key)
	for _, e := range []struct{ ending, format string }{
		{"jar", "zip"}, {"zip", "zip"}, {"tar", "tar"}, {"tgz", "tgz"}, {"tar.gz", "tgz"}, {"tar_gz", "tgz"},
	} {
		if strings.HasSuffix(key, "."+e.ending) || strings.HasSuffix(key, "_"+e.ending) {
			return e.format
		}
	}
	return ""
}

// unpackArchive unpacks file into the new folder dir.
func unpackArchive(file, format, dir string, limits limits) error {
	if format == "zip" {
		return unpackZip(file, "", dir, limits)
	}
	f, err := regular.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	var r io.Reader = f
	if format == "tgz" {
		z, err := gzip.NewReader(f)
		if err != nil {
			return fmt.Errorf("%w: %w", errRefused, err)
		}
		r = z
	}
	return unpackTar(r, dir, limits)
}

// unpackResources unpacks what a jar holds below resources/ into the new folder dir, which is made even if that is nothing.
func unpackResources(jar, dir string, limits limits) error {
	return unpackZip(jar, localstate.Resources+"/", dir, limits)
}

// sink is the folder being unpacked into.
type sink struct {
	root   *os.Root
	limits limits
	links  []string
}

func newSink(dir string, limits limits) (*sink, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &sink{root: root, limits: limits}, nil
}

// close ends the unpacking and refuses links that lead outside. Only now, when all links are there, can that be said.
func (s *sink) close(err error) error {
	for _, link := range s.links {
		if err != nil {
			break
		}
		if _, serr := s.root.Stat(link); serr != nil && !errors.Is(serr, fs.ErrNotExist) {
			err = fmt.Errorf("%w: link %s: %w", errRefused, link, serr)
		}
	}
	if cerr := s.root.Close(); err == nil {
		err = cerr
	}
	return err
}

// enter checks an entry's name and makes its folder. It returns "" for the folder itself.
func (s *sink) enter(name string) (string, error) {
	if s.limits.entries--; s.limits.entries < 0 {
		return "", fmt.Errorf("%w: too many entries", errRefused)
	}
	if strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\\\x00") {
		return "", fmt.Errorf("%w: entry name %q", errRefused, name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." || len(part) > 255 {
			return "", fmt.Errorf("%w: entry name %q", errRefused, name)
		}
	}
	name = path.Clean(name)
	if name == "." {
		return "", nil
	}
	if err := s.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return "", fmt.Errorf("%w: entry %s: %w", errRefused, name, err)
	}
	return name, nil
}

// file writes one file. A file or link of that name is removed first (some jars hold a name twice, and the last one
// counts), so that no entry writes through an earlier one.
func (s *sink) file(name string, mode fs.FileMode, r io.Reader) (err error) {
	perm := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		perm = 0o755
	}
	if info, err := s.root.Lstat(name); err == nil && !info.IsDir() {
		if err := s.root.Remove(name); err != nil {
			return err
		}
	}
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return fmt.Errorf("entry %s: %w", name, err)
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	if err := f.Chmod(perm); err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(r, s.limits.bytes+1))
	if err != nil {
		return fmt.Errorf("entry %s: %w", name, err)
	}
	if s.limits.bytes -= n; s.limits.bytes < 0 {
		return fmt.Errorf("%w: unpacks to too many bytes", errRefused)
	}
	return nil
}

func (s *sink) folder(name string) error {
	if err := s.root.MkdirAll(name, 0o755); err != nil {
		return fmt.Errorf("%w: entry %s: %w", errRefused, name, err)
	}
	return nil
}

// unpackZip unpacks the entries whose names begin with prefix, without it.
func unpackZip(file, prefix, dir string, limits limits) error {
	z, err := zip.OpenReader(file)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are checked below
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	defer z.Close() //nolint:errcheck // only read
	s, err := newSink(dir, limits)
	if err != nil {
		return err
	}
	for _, entry := range z.File {
		name, ok := strings.CutPrefix(entry.Name, prefix)
		if !ok || name == "" {
			continue
		}
		if err = s.zipEntry(name, entry); err != nil {
			break
		}
	}
	return s.close(err)
}

func (s *sink) zipEntry(name string, entry *zip.File) error {
	folder := strings.HasSuffix(name, "/")
	name, err := s.enter(name)
	if err != nil || name == "" {
		return err
	}
	if folder {
		return s.folder(name)
	}
	// Links and devices become plain files that hold what the entry holds, as with stock.
	r, err := entry.Open()
	if err != nil {
		return fmt.Errorf("entry %s: %w", name, err)
	}
	err = s.file(name, entry.Mode(), r)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return err
}

func unpackTar(r io.Reader, dir string, limits limits) error {
	s, err := newSink(dir, limits)
	if err != nil {
		return err
	}
	t := tar.NewReader(r)
	for {
		var entry *tar.Header
		entry, err = t.Next()
		if errors.Is(err, io.EOF) {
			return s.close(nil)
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // names are checked below
			return s.close(fmt.Errorf("%w: %w", errRefused, err))
		}
		if err = s.tarEntry(entry, t); err != nil {
			return s.close(err)
		}
	}
}

func (s *sink) tarEntry(entry *tar.Header, r io.Reader) error {
	switch entry.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink:
	default:
		return fmt.Errorf("%w: entry %s is of type %q", errRefused, entry.Name, entry.Typeflag)
	}
	name, err := s.enter(entry.Name)
	if err != nil || name == "" {
		return err
	}
	switch entry.Typeflag {
	case tar.TypeDir:
		return s.folder(name)
	case tar.TypeSymlink:
		return s.symlink(name, entry.Linkname)
	case tar.TypeLink:
		return s.hardLink(name, entry.Linkname)
	default:
		return s.file(name, fs.FileMode(entry.Mode)&0o777, r) //nolint:gosec // only permission bits are kept
	}
}

// symlink makes a link; where it leads is checked at the end, by close.
func (s *sink) symlink(name, target string) error {
	if target == "" || path.IsAbs(target) {
		return fmt.Errorf("%w: link %s leads to %q", errRefused, name, target)
	}
	if err := s.root.Symlink(target, name); err != nil {
		return fmt.Errorf("%w: link %s: %w", errRefused, name, err)
	}
	s.links = append(s.links, name)
	return nil
}

func (s *sink) hardLink(name, target string) error {
	info, err := s.root.Lstat(path.Clean(target))
	if err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("%w: link %s leads to %q, which is no file of the archive", errRefused, name, target)
	}
	if err := s.root.Link(path.Clean(target), name); err != nil {
		return fmt.Errorf("%w: link %s: %w", errRefused, name, err)
	}
	return nil
}
