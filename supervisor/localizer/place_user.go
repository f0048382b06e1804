// SPDX-License-Identifier: Apache-2.0

package localizer

// This file lays out an owner's blob: <key>.<version>, a line of text in <key>.version, and the link <key>.current.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/localstate"
)

const currentSuffix = ".current"

type userPlace struct {
	dir    string // files or archives of the owner
	key    string
	unpack bool
	tmp    string
	limits limits
}

func newUserPlace(layout localstate.Layout, owner, key string, unpack bool) *userPlace {
	dir := layout.UserFiles(owner)
	if unpack {
		dir = layout.UserArchives(owner)
	}
	return &userPlace{dir: dir, key: key, unpack: unpack, tmp: layout.Tmp()}
}

func (p *userPlace) id() string { return filepath.Join(p.dir, p.key) }

// current is the link that always leads to the newest version.
func (p *userPlace) current() string { return p.id() + currentSuffix }

func (p *userPlace) versionFile() string { return p.id() + localstate.VersionSuffix }

func (p *userPlace) data(version int64) string {
	return p.id() + "." + strconv.FormatInt(version, 10)
}

// version believes the link and not the .version file: a crash between the two leaves the link, and with it the running
// workers, at the old version, which is complete.
func (p *userPlace) version() (int64, bool) {
	target, err := os.Readlink(p.current())
	if err != nil || !exists(p.current()) {
		return 0, false
	}
	number, ok := strings.CutPrefix(filepath.Base(target), p.key+".")
	if !ok {
		return 0, false
	}
	version, err := strconv.ParseInt(number, 10, 64)
	return version, err == nil
}

func (p *userPlace) stage(s *staged) error {
	if !p.unpack || formatOf(p.key) == "" {
		return nil
	}
	s.dir = localstate.TempName(p.tmp, "archive")
	if err := unpackArchive(s.file, formatOf(p.key), s.dir, p.limits); err != nil {
		return err
	}
	if err := syncTree(s.dir); err != nil {
		return err
	}
	if err := os.Remove(s.file); err != nil {
		return err
	}
	s.file = ""
	return nil
}

// syncTree makes everything below dir durable. One call for the file system is far cheaper than one a file.
func syncTree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = unix.Syncfs(int(f.Fd()))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (p *userPlace) commit(s *staged) error {
	// Other users' files are nobody's business: the owner's folder is closed to the world.
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	data := p.data(s.version)
	if s.dir != "" {
		if err := replaceDir(p.tmp, s.dir, data); err != nil {
			return err
		}
		s.dir = ""
	} else {
		if err := os.Chmod(s.file, 0o600); err != nil {
			return err
		}
		if err := removeIfDir(p.tmp, data); err != nil {
			return err
		}
		if err := os.Rename(s.file, data); err != nil {
			return err
		}
		s.file = ""
	}
	if err := regular.SyncDir(p.dir); err != nil {
		return err
	}
	line := append(strconv.AppendInt(nil, s.version, 10), '\n')
	if err := localstate.WriteFile(p.versionFile(), line, 0o600); err != nil {
		return err
	}
	if err := replaceLink(p.tmp, data, p.current()); err != nil {
		return err
	}
	return regular.SyncDir(p.dir)
}

// removeIfDir clears the way for a file where a folder of the same name is left from a blob of another kind.
func removeIfDir(tmp, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !info.IsDir()) {
		return nil
	}
	if err != nil {
		return err
	}
	old := localstate.TempName(tmp, "old")
	if err := os.Rename(path, old); err != nil {
		return err
	}
	return os.RemoveAll(old)
}
