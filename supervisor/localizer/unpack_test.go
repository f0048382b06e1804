// SPDX-License-Identifier: Apache-2.0

package localizer

// Tests of unpacking what nobody vouches for.

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type entry struct {
	name, content, link string
	kind                byte
	mode                int64
}

func tarball(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		must(t, w.WriteHeader(&tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Size: int64(len(e.content)), Mode: e.mode}))
		_, err := w.Write([]byte(e.content))
		must(t, err)
	}
	must(t, w.Close())
	return out.Bytes()
}

func rawZip(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(fs.FileMode(e.mode)) //nolint:gosec // small
		f, err := w.CreateHeader(h)
		must(t, err)
		_, err = f.Write([]byte(e.content))
		must(t, err)
	}
	must(t, w.Close())
	return out.Bytes()
}

// unpack unpacks data into <root>/in/out, beside a secret, and gives the error and root.
func unpack(t *testing.T, format string, data []byte, l limits) (root string, err error) {
	t.Helper()
	root = t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "in"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "in", "secret"), []byte("s"), 0o600))
	file := filepath.Join(root, "blob")
	must(t, os.WriteFile(file, data, 0o600))
	err = unpackArchive(file, format, filepath.Join(root, "in", "out"), l)
	must(t, os.Remove(file))
	return root, err
}

func generous() limits { return limits{bytes: 1 << 20, entries: 100} }

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	symlink, link, dir := byte(tar.TypeSymlink), byte(tar.TypeLink), byte(tar.TypeDir)
	for name, c := range map[string]struct {
		format string
		data   []byte
	}{
		"TarParent":        {"tar", tarball(t, entry{name: "../x"})},
		"TarDeepParent":    {"tar", tarball(t, entry{name: "a/../../x"})},
		"TarInnerParent":   {"tar", tarball(t, entry{name: "a/../x"})},
		"TarAbsolute":      {"tar", tarball(t, entry{name: "/tmp/x"})},
		"TarBackslash":     {"tar", tarball(t, entry{name: `..\x`})},
		"TarLinkAbsolute":  {"tar", tarball(t, entry{name: "l", kind: symlink, link: "/etc/passwd"})},
		"TarLinkParent":    {"tar", tarball(t, entry{name: "l", kind: symlink, link: "../secret"})},
		"TarLinkEmpty":     {"tar", tarball(t, entry{name: "l", kind: symlink})},
		"TarWriteThrough":  {"tar", tarball(t, entry{name: "l", kind: symlink, link: ".."}, entry{name: "l/secret", content: "x"})},
		"TarOverLink":      {"tar", tarball(t, entry{name: "l", kind: symlink, link: "../secret"}, entry{name: "l", content: "x"}, entry{name: "m", kind: symlink, link: "../secret"})},
		"TarLinkByLinks":   {"tar", tarball(t, entry{name: "d/", kind: dir}, entry{name: "d/up", kind: symlink, link: ".."}, entry{name: "l", kind: symlink, link: "d/up/../secret"})},
		"TarShallow":       {"tar", tarball(t, entry{name: "z/", kind: dir}, entry{name: "a", kind: symlink, link: "z"}, entry{name: "a/l", kind: symlink, link: "../../secret"})},
		"TarLoop":          {"tar", tarball(t, entry{name: "l", kind: symlink, link: "l"})},
		"TarHardOutside":   {"tar", tarball(t, entry{name: "h", kind: link, link: "../secret"})},
		"TarHardAbsolute":  {"tar", tarball(t, entry{name: "h", kind: link, link: "/etc/passwd"})},
		"TarHardToLink":    {"tar", tarball(t, entry{name: "l", kind: symlink, link: "x"}, entry{name: "h", kind: link, link: "l"})},
		"TarHardMissing":   {"tar", tarball(t, entry{name: "h", kind: link, link: "none"})},
		"TarDevice":        {"tar", tarball(t, entry{name: "d", kind: tar.TypeBlock})},
		"TarFifo":          {"tar", tarball(t, entry{name: "d", kind: tar.TypeFifo})},
		"TarLongName":      {"tar", tarball(t, entry{name: strings.Repeat("x", 300)})},
		"TarTorn":          {"tar", tarball(t, entry{name: "x", content: strings.Repeat("x", 2000)})[:1500]},
		"TarGarbage":       {"tar", []byte(strings.Repeat("garbage", 200))},
		"TarBomb":          {"tar", tarball(t, entry{name: "x", content: strings.Repeat("x", 1<<20+1)})},
		"TarBombOfMany":    {"tar", tarball(t, entry{name: "x", content: strings.Repeat("x", 1<<19)}, entry{name: "y", content: strings.Repeat("x", 1<<19+1)})},
		"TgzGarbage":       {"tgz", []byte("garbage")},
		"TgzBomb":          {"tgz", zipped(t, tarball(t, entry{name: "x", content: strings.Repeat("x", 1<<20+1)}))},
		"ZipParent":        {"zip", rawZip(t, entry{name: "../x"})},
		"ZipAbsolute":      {"zip", rawZip(t, entry{name: "/tmp/x"})},
		"ZipBackslash":     {"zip", rawZip(t, entry{name: `a\..\..\x`})},
		"ZipBomb":          {"zip", rawZip(t, entry{name: "x", content: strings.Repeat("x", 1<<20+1)})},
		"ZipManyEntries":   {"zip", rawZip(t, make([]entry, 101)...)},
		"ZipFileAsFolder":  {"zip", rawZip(t, entry{name: "a", content: "x"}, entry{name: "a/b", content: "x"})},
		"ZipFolderAsFile":  {"zip", rawZip(t, entry{name: "a/b", content: "x"}, entry{name: "a", content: "x"})},
		"ZipGarbage":       {"zip", []byte("garbage")},
		"ZipGarbledAtLast": {"zip", rawZip(t, entry{name: "a", content: "x"})[:40]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(name, "ZipMany") {
				many := make([]entry, 101)
				for i := range many {
					many[i].name = strings.Repeat("x", i+1)
				}
				c.data = rawZip(t, many...)
			}
			root, err := unpack(t, c.format, c.data, generous())
			if err == nil {
				t.Error("it was unpacked")
			}
			if diff := cmp.Diff([]string{"in/"}, onlyOutside(tree(t, root))); diff != "" {
				t.Errorf("outside the folder: %s", diff)
			}
			if s := content(t, root, "in", "secret"); s != "s" {
				t.Errorf("the secret is %q", s)
			}
		})
	}
}

// onlyOutside keeps what lies neither in the folder nor is the secret.
func onlyOutside(list []string) []string {
	var outside []string
	for _, path := range list {
		if path != "in/secret" && !strings.HasPrefix(path, "in/out") {
			outside = append(outside, path)
		}
	}
	return outside
}

func TestUnpackTar(t *testing.T) {
	t.Parallel()
	data := tarball(t,
		entry{name: "./", kind: tar.TypeDir}, entry{name: "./d/", kind: tar.TypeDir},
		entry{name: "d/run.sh", content: "#!", mode: 0o4755}, entry{name: "d/deep/er/f", content: "1", mode: 0o600},
		entry{name: "current", kind: tar.TypeSymlink, link: "d"}, entry{name: "d/self", kind: tar.TypeSymlink, link: "../d/run.sh"},
		entry{name: "dangling", kind: tar.TypeSymlink, link: "d/none"}, entry{name: "current/through", content: "2"},
		entry{name: "hard", kind: tar.TypeLink, link: "d/deep/er/f"}, entry{name: "twice", content: "a"}, entry{name: "twice", content: "b"},
	)
	for format, data := range map[string][]byte{"tar": data, "tgz": zipped(t, data)} {
		root, err := unpack(t, format, data, generous())
		must(t, err)
		out := filepath.Join(root, "in", "out")
		want := []string{
			"current -> d", "d/", "d/deep/", "d/deep/er/", "d/deep/er/f", "d/run.sh", "d/self -> run.sh", "d/through",
			"dangling -> none", "hard", "twice",
		}
		if diff := cmp.Diff(want, tree(t, out)); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
		for path, mode := range map[string]fs.FileMode{"d/run.sh": 0o755, "d/deep/er/f": 0o644} {
			if info, err := os.Stat(filepath.Join(out, path)); err != nil || info.Mode() != mode {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
		if c := content(t, out, "twice") + content(t, out, "hard"); c != "b1" {
			t.Errorf("contents %q", c)
		}
	}
}

func TestUnpackZip(t *testing.T) {
	t.Parallel()
	root, err := unpack(t, "zip", rawZip(t, entry{name: "a/run", content: "#!", mode: 0o755}, entry{name: "b/"},
		entry{name: "link", content: "../secret", mode: int64(fs.ModeSymlink | 0o777)}), generous())
	must(t, err)
	out := filepath.Join(root, "in", "out")
	if diff := cmp.Diff([]string{"a/", "a/run", "b/", "link"}, tree(t, out)); diff != "" {
		t.Error(diff)
	}
	if c := content(t, out, "link"); c != "../secret" {
		t.Errorf("link holds %q", c)
	}
}

func TestFormatOf(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"a.jar": "zip", "a_jar": "zip", "a.zip": "zip", "A_ZIP": "zip", "a.tar": "tar", "a_tar": "tar", "a.tgz": "tgz",
		"a_tgz": "tgz", "a.tar.gz": "tgz", "a_tar_gz": "tgz", "a.tar_gz": "tgz", "a.gz": "", "jar": "", "a.txt": "", "": "",
	} {
		if got := formatOf(key); got != want {
			t.Errorf("formatOf(%q) = %q, want %q", key, got, want)
		}
	}
}

// FuzzUnpack holds that nothing is ever written outside.
func FuzzUnpack(f *testing.F) {
	f.Add("tar", []byte("x"))
	f.Fuzz(func(t *testing.T, format string, data []byte) {
		root, err := unpack(t, format, data, limits{bytes: 1 << 16, entries: 50})
		if outside := onlyOutside(tree(t, root)); len(outside) != 1 {
			t.Errorf("outside the folder: %v (%v)", outside, err)
		}
		if errors.Is(err, fs.ErrNotExist) {
			t.Errorf("unpacked with %v", err)
		}
	})
}
