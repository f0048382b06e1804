// SPDX-License-Identifier: Apache-2.0

package localstate

// This file is the numbered-versions folder: <n> holds the data, the empty file <n>.version says that it is complete.

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/internal/regular"
)

// keepVersions is how many complete versions stay; Storm keeps as many.
const keepVersions = 4

// maxVersionSize bounds what is read of one version. Local assignments of a machine take some kilobytes.
const maxVersionSize = 64 << 20

// parseVersion reads a version number or its token's name. Negative numbers are not versions.
func parseVersion(name string) (version int64, token, ok bool) {
	number, token := strings.CutSuffix(name, VersionSuffix)
	version, err := strconv.ParseInt(number, 10, 64)
	if err != nil || version < 0 || strconv.FormatInt(version, 10) != number {
		return 0, false, false
	}
	return version, token, true
}

// completeVersions lists the versions in dir that have data and token, newest first. A folder that does not exist has none.
func completeVersions(dir string) ([]int64, error) {
	names, err := readNames(dir)
	if err != nil {
		return nil, err
	}
	data := make(map[int64]bool, len(names)/2)
	var tokens []int64
	for _, name := range names {
		version, token, ok := parseVersion(name)
		switch {
		case !ok:
		case token:
			tokens = append(tokens, version)
		default:
			data[version] = true
		}
	}
	tokens = slices.DeleteFunc(tokens, func(v int64) bool { return !data[v] })
	slices.SortFunc(tokens, func(a, b int64) int { return -cmpInt64(a, b) })
	return tokens, nil
}

func cmpInt64(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func readNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return names, err
}

func versionPath(dir string, version int64) string {
	return filepath.Join(dir, strconv.FormatInt(version, 10))
}

// readVersion reads one version's data, refusing what is not a plain file of a sane size.
func readVersion(dir string, version int64) ([]byte, error) {
	path := versionPath(dir, version)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxVersionSize {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), int64(maxVersionSize))
	}
	return regular.ReadFile(path)
}

// writeVersion adds data as the newest version. at is the wanted number (milliseconds since 1970); it is raised when the
// clock was set back, so that the newest data always has the greatest number.
func writeVersion(dir string, at int64, data []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	versions, err := completeVersions(dir)
	if err != nil {
		return err
	}
	if len(versions) > 0 && at <= versions[0] {
		if versions[0] == math.MaxInt64 {
			return fmt.Errorf("%s has the greatest possible number, no newer version can be written", versionPath(dir, versions[0]))
		}
		at = versions[0] + 1
	}
	path := versionPath(dir, at)
	if err := WriteFile(path, data, 0o644); err != nil {
		return err
	}
	token, err := regular.OpenFile(path+VersionSuffix, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("complete version %s: %w", path, err)
	}
	if err := token.Close(); err != nil {
		return fmt.Errorf("complete version %s: %w", path, err)
	}
	if err := regular.SyncDir(dir); err != nil {
		return fmt.Errorf("complete version %s: %w", path, err)
	}
	return dropOldVersions(dir)
}

// dropOldVersions removes all but the newest complete versions, and what earlier crashes left.
func dropOldVersions(dir string) error {
	keep, err := completeVersions(dir)
	if err != nil {
		return err
	}
	keep = keep[:min(len(keep), keepVersions)]
	names, err := readNames(dir)
	if err != nil {
		return err
	}
	// Tokens sort after their data; going backwards a version loses its token first and is never seen half removed.
	slices.Sort(names)
	slices.Reverse(names)
	for _, name := range names {
		version, _, ok := parseVersion(name)
		if (ok && !slices.Contains(keep, version)) || strings.HasPrefix(name, TempPrefix) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
