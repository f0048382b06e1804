// SPDX-License-Identifier: Apache-2.0

package localizer

// This file holds what the package's tests share: a Nimbus that holds blobs in memory and can be made to misbehave.

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	topologyID = "wc-1-1700000000"
	owner      = "alice"
)

// nimbus holds blobs in memory.
type nimbus struct {
	mu        sync.Mutex
	blobs     map[string][]byte
	versions  map[string]int64
	downloads map[string]int
	asked     map[string]int
	down      bool
	wrap      func(key string, b *Blob) (*Blob, error) // alters a download
	now, most int
}

func newNimbus() *nimbus {
	return &nimbus{
		blobs: map[string][]byte{}, versions: map[string]int64{}, downloads: map[string]int{}, asked: map[string]int{},
	}
}

func (n *nimbus) put(key string, data []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blobs[key] = data
	n.versions[key]++
}

func (n *nimbus) remove(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.blobs, key)
}

func (n *nimbus) set(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

func (n *nimbus) count(key string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.downloads[key]
}

func (n *nimbus) look(key string) error {
	if n.down {
		return errors.New("connection refused")
	}
	if _, ok := n.blobs[key]; !ok {
		return fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	return nil
}

func (n *nimbus) BlobVersion(_ context.Context, key string) (int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked[key]++
	return n.versions[key], n.look(key)
}

func (n *nimbus) Download(_ context.Context, key string) (*Blob, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.downloads[key]++
	if err := n.look(key); err != nil {
		return nil, err
	}
	n.now++
	n.most = max(n.most, n.now)
	b := &Blob{Version: n.versions[key], Size: int64(len(n.blobs[key]))}
	b.Body = &body{Reader: bytes.NewReader(n.blobs[key]), closed: func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.now--
	}}
	if n.wrap != nil {
		return n.wrap(key, b)
	}
	return b, nil
}

type body struct {
	io.Reader
	closed func()
}

func (b *body) Close() error { b.closed(); return nil }

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(data)
	must(t, errors.Join(err, z.Close()))
	return out.Bytes()
}

func jar(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, content := range files {
		w, err := z.Create(name)
		must(t, err)
		_, err = w.Write([]byte(content))
		must(t, err)
	}
	must(t, z.Close())
	return out.Bytes()
}

// submit puts a topology's three blobs.
func (n *nimbus) submit(t *testing.T, conf config.Conf, code *storm.StormTopology) {
	t.Helper()
	n.putConf(t, conf)
	buffer := thrift.NewTMemoryBuffer()
	must(t, code.Write(t.Context(), thrift.NewTBinaryProtocolConf(buffer, nil)))
	n.put(topologyID+"-stormcode.ser", zipped(t, buffer.Bytes()))
	n.put(topologyID+"-stormjar.jar", jar(t, map[string]string{
		"A.class": "x", "resources/": "", "resources/split.py": "print()", "resources/deep/x": "y", "resourcesX": "n",
	}))
}

func (n *nimbus) putConf(t *testing.T, conf config.Conf) {
	t.Helper()
	text, err := conf.JSON()
	must(t, err)
	n.put(topologyID+"-stormconf.ser", zipped(t, text))
}

func code(version string) *storm.StormTopology {
	c := storm.NewStormTopology()
	c.Spouts, c.Bolts, c.StateSpouts = map[string]*storm.SpoutSpec{}, map[string]*storm.Bolt{}, map[string]*storm.StateSpoutSpec{}
	if version != "" {
		c.StormVersion = &version
	}
	return c
}

// site is a localizer over a fresh disk.
type site struct {
	*Localizer
	nimbus *nimbus
	layout localstate.Layout
}

func newSite(t *testing.T, change ...func(*Config)) *site {
	t.Helper()
	dir := t.TempDir()
	cfg := Config{
		Layout:    localstate.Layout{Local: dir, Artifacts: filepath.Join(dir, "artifacts")},
		RetryWait: time.Millisecond, CheckEvery: time.Hour, AgreeWithin: time.Hour,
		NoChecksums: true, // the test's Nimbus counts versions
	}
	for _, c := range change {
		c(&cfg)
	}
	n := newNimbus()
	return &site{Localizer: New(cfg, n, zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel))), nimbus: n, layout: cfg.Layout}
}

// again is a localizer over the same disk, as after a restart.
func (s *site) again(t *testing.T) *site {
	t.Helper()
	return &site{Localizer: New(s.cfg, s.nimbus, zaptest.NewLogger(t)), nimbus: s.nimbus, layout: s.layout}
}

func (s *site) localize(t *testing.T, port int, changed func(*Change)) *Topology {
	t.Helper()
	topology, err := s.Localize(t.Context(), request(port, changed))
	if err != nil {
		t.Fatalf("Localize: %v", err)
	}
	return topology
}

func request(port int, changed func(*Change)) Request {
	return Request{TopologyID: topologyID, Owner: owner, Port: port, Changed: changed}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, elements ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	must(t, err)
	return string(data)
}

// tree lists everything below dir, links with their targets.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if d.IsDir() {
			name += "/"
		}
		if target, lerr := os.Readlink(path); lerr == nil {
			name += " -> " + filepath.Base(target)
		}
		list = append(list, name)
		return err
	}))
	slices.Sort(list)
	return list
}
