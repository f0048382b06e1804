// SPDX-License-Identifier: Apache-2.0

package localstate

// This file writes files so that a reader sees the old content or the new one and a crash leaves one of the two.

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gust-stream/gust/internal/regular"
)

// TempPrefix begins the name of every temporary file; what carries it after a crash is rubbish.
const TempPrefix = "_tmp_"

// TempName is a fresh name for a temporary file or folder inside dir. It is not created: use O_EXCL or Mkdir.
func TempName(dir, hint string) string {
	return filepath.Join(dir, TempPrefix+hint+"."+rand.Text())
}

// WriteFile replaces the file at path by data with exactly the permission bits mode, whatever the umask.
// The data is on disk when WriteFile returns nil.
func WriteFile(path string, data []byte, mode os.FileMode) error {
	tmp := TempName(filepath.Dir(path), filepath.Base(path))
	if err := writeNew(tmp, data, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := regular.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// writeNew creates path, which must not exist, and syncs it. On an error nothing is left.
func writeNew(path string, data []byte, mode os.FileMode) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}
