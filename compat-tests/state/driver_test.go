// SPDX-License-Identifier: Apache-2.0

// This file starts the Java driver and talks to it.

package state

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gust-stream/gust/internal/testbed"
)

// What the driver can do.
const (
	doOpen = 1 + iota
	doClose
	doGet
	doPut
	doDelete
	doAll
	doPrepare
	doCommit
	doCommitNow
	doRollback

	doReader     = 20
	doReaderGet  = 21
	doReaderLook = 22
	doHash       = 23
)

// driver is a Java process that does what it is told.
type driver struct {
	to   *bufio.Writer
	from *bufio.Reader
	errs bytes.Buffer
}

// fault is an exception of the driver's.
type fault struct{ reason, message string }

func (f *fault) Error() string { return f.reason + ": " + f.message }

var errNothing = errors.New("there is none")

// libs is the class path of a stock worker.
func libs(t testing.TB) string {
	t.Helper()
	home, err := testbed.Home()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(home, "lib-worker", "*")
}

// compile compiles the plug-in with the Java files of this folder and another one, and gives the class path.
func compile(t testing.TB, folder string, more ...string) string {
	t.Helper()
	root, err := testbed.Root()
	if err != nil {
		t.Fatal(err)
	}
	path := strings.Join(append([]string{libs(t)}, more...), ":")
	classes := t.TempDir()
	args := []string{"-nowarn", "-d", classes, "-cp", path}
	for _, sources := range []string{filepath.Join(root, "stateapi", "java", "src", "main"), "java", folder} {
		err := filepath.WalkDir(sources, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(path, ".java") && !slices.Contains(args, path) {
				args = append(args, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("javac", args...).CombinedOutput(); err != nil {
		t.Fatalf("compile: %v\n%s", err, out)
	}
	return classes + ":" + path
}

func startDriver(t testing.TB) *driver {
	t.Helper()
	cmd := exec.Command("java", "-Xmx768m", "-XX:+UseSerialGC", "-Dorg.apache.logging.log4j.level=WARN", "-cp", compile(t, "java"),
		"io.github.guststream.state.Driver")
	d := &driver{}
	cmd.Stderr = &d.errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // it ends with its input
		if err := cmd.Wait(); err != nil {
			t.Errorf("driver: %v\n%s", err, d.errs.String())
		}
	})
	d.to, d.from = bufio.NewWriterSize(in, 1<<16), bufio.NewReaderSize(out, 1<<16)
	return d
}

// ask has the driver do something. each gets the entries of doAll.
func (d *driver) ask(what byte, handle uint32, number int64, key, value []byte, each func(key, value []byte)) ([]byte, error) {
	head := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32([]byte{what}, handle), uint64(number))
	for _, part := range [][]byte{head, size(key), key, size(value), value} {
		if _, err := d.to.Write(part); err != nil {
			return nil, err
		}
	}
	if err := d.to.Flush(); err != nil {
		return nil, err
	}
	for {
		kind, err := d.from.ReadByte()
		if err != nil {
			return nil, fmt.Errorf("answer of the driver: %w", err)
		}
		switch kind {
		case 0:
			return d.bytes()
		case 1:
			return nil, errNothing
		}
		first, err := d.bytes()
		if err != nil {
			return nil, err
		}
		second, err := d.bytes()
		if err != nil {
			return nil, err
		}
		if kind != 3 {
			return nil, &fault{string(first), string(second)}
		}
		each(first, second)
	}
}

// open opens a state or a reader and gives its handle.
func (d *driver) open(what byte, number int64, fields ...string) (uint32, error) {
	answer, err := d.ask(what, 0, number, []byte(strings.Join(fields, "\n")), nil, nil)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(answer), nil
}

func size(b []byte) []byte { return binary.BigEndian.AppendUint32(nil, uint32(len(b))) }

func (d *driver) bytes() ([]byte, error) {
	var n [4]byte
	if _, err := io.ReadFull(d.from, n[:]); err != nil {
		return nil, err
	}
	out := make([]byte, binary.BigEndian.Uint32(n[:]))
	_, err := io.ReadFull(d.from, out)
	return out, err
}
