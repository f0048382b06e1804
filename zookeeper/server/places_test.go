// SPDX-License-Identifier: Apache-2.0

// What is no file in the place of one.

package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/internal/regular"
)

// TestPipesInPlaceOfFiles puts a pipe, and a link to a device, in the place of each file of a store. An open that waits for the
// other end would hang the test.
func TestPipesInPlaceOfFiles(t *testing.T) {
	t.Parallel()
	h := record(t)
	for _, name := range []string{lockName, storeName, markName, logName(1), snapName(1 << 20)} {
		for kind, lay := range map[string]func(path string) error{
			"a named pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"a device":     func(path string) error { return os.Symlink("/dev/zero", path) },
		} {
			dir := t.TempDir()
			h.lay(t, dir, h.log, h.marks[len(h.marks)-1])
			path := filepath.Join(dir, name)
			if err := errors.Join(os.RemoveAll(path), lay(path)); err != nil {
				t.Fatal(err)
			}
			s, err := openStore(dir, zap.NewNop())
			if err == nil {
				_, err = s.recover()
				if err := s.close(); err != nil {
					t.Fatal(err)
				}
			}
			if !errors.Is(err, regular.ErrNot) || !strings.Contains(err.Error(), path+" is "+kind) {
				t.Errorf("%s in place of %s: %v", kind, name, err)
			}
		}
	}
}
