// SPDX-License-Identifier: Apache-2.0

package localizer

// Tests of new versions and of cleaning up.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
)

// changes collects what a slot is told.
func changes() (func(*Change), chan *Change) {
	told := make(chan *Change, 10)
	return func(c *Change) { told <- c }, told
}

func running(t *testing.T, s *site) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return func() {
		cancel()
		must(t, <-ended)
	}
}

func TestChangeSwapsInPlace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.nimbus.submitAll(t)
	changed, told := changes()
	s.localize(t, 1, changed)
	s.nimbus.put("stop.words", []byte("v2"))
	s.nimbus.put("model.zip", jar(t, map[string]string{"m/weights": "4"}))
	s.Check(t.Context())
	dir := s.layout.Topology(topologyID)
	if c := content(t, dir, "stop.words") + content(t, dir, "model", "m", "weights"); c != "v24" {
		t.Errorf("blobs hold %q", c)
	}
	if len(told) != 0 {
		t.Errorf("the slot was told of %+v", <-told)
	}
	if c := content(t, s.layout.UserFiles(owner), "stop.words.1"); c != "stop.words" {
		t.Errorf("the old version holds %q", c)
	}
}

func TestChangeWaitsForAllSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(c *Config) { c.CheckEvery = 30 * time.Second })
		s.nimbus.submitAll(t)
		changed1, told1 := changes()
		changed2, told2 := changes()
		s.localize(t, 1, changed1)
		s.localize(t, 2, changed2)
		s.localize(t, 3, changed2)
		stop := running(t, s)
		s.nimbus.putConf(t, config.Conf{"n": int64(8)})
		first, second, third := <-told1, <-told2, <-told2
		if first.Key != topologyID+"-stormconf.ser" || first.Version != 2 || first.Port != 1 || first.TopologyID != topologyID {
			t.Errorf("told of %+v", first)
		}
		first.Agree()
		first.Agree()
		second.Agree()
		synctest.Wait()
		select {
		case <-first.Done():
			t.Error("the change was made before all slots agreed")
		default:
		}
		// A slot that comes while the change waits is asked too.
		changed4, told4 := changes()
		s.localize(t, 4, changed4)
		third.Agree()
		fourth := <-told4
		s.Release(topologyID, 4) // giving up is agreeing
		<-first.Done()
		<-fourth.Done()
		if err := first.Err(); err != nil {
			t.Errorf("Err() = %v", err)
		}
		if topology := s.localize(t, 1, changed1); topology.Conf["n"] != int64(8) {
			t.Errorf("conf is %v", topology.Conf)
		}
		stop()
		if len(told1)+len(told2)+len(told4) != 0 {
			t.Error("slots were told twice")
		}
	})
}

func TestChangeAfterThreeMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(c *Config) { c.CheckEvery, c.AgreeWithin = 30*time.Second, 3*time.Minute })
		s.nimbus.submitAll(t)
		changed, told := changes()
		s.localize(t, 1, changed)
		stop := running(t, s)
		s.nimbus.put("words.txt", []byte("v2"))
		start := time.Now()
		change := <-told
		<-change.Done()
		if passed := time.Since(start); passed < 3*time.Minute || passed > 4*time.Minute {
			t.Errorf("the change was made after %v", passed)
		}
		if c := content(t, s.layout.Topology(topologyID), "words"); c != "v2" {
			t.Errorf("words holds %q", c)
		}
		stop()
	})
}

func TestChangeGivenUpAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(c *Config) { c.CheckEvery = 30 * time.Second })
		s.nimbus.submitAll(t)
		changed, told := changes()
		s.localize(t, 1, changed)
		stop := running(t, s)
		s.nimbus.put("words.txt", []byte("v2"))
		change := <-told
		if err := change.Err(); err != nil {
			t.Errorf("Err() before Done = %v", err)
		}
		stop()
		<-change.Done()
		if err := change.Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("Err() = %v", err)
		}
		if c := content(t, s.layout.Topology(topologyID), "words"); c != "words.txt" {
			t.Errorf("words holds %q", c)
		}
	})
}

func TestCheckSurvivesNimbus(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.nimbus.submitAll(t)
	s.localize(t, 1, nil)
	s.nimbus.set(true)
	s.Check(t.Context())
	s.clean(t.Context())
	s.nimbus.set(false)
	for key := range s.nimbus.blobs {
		s.nimbus.remove(key) // a Nimbus that lost its blobs must not cost a running topology its files
	}
	s.Check(t.Context())
	s.clean(t.Context())
	if _, err := s.Adopt(t.Context(), request(2, nil)); err != nil {
		t.Errorf("Adopt: %v", err)
	}
}

func TestCleanRemovesWhatNimbusHasNot(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.nimbus.submitAll(t)
	s.localize(t, 1, nil)
	s.Release(topologyID, 1)
	s.nimbus.set(true)
	s.clean(t.Context())
	s.nimbus.set(false)
	s.clean(t.Context())
	if _, err := s.Adopt(t.Context(), request(2, nil)); err != nil {
		t.Fatalf("unused blobs that Nimbus has are gone: %v", err)
	}
	s.Release(topologyID, 2)
	s.nimbus.remove(topologyID + "-stormconf.ser")
	s.nimbus.remove("words.txt")
	s.nimbus.remove("model.zip")
	s.clean(t.Context())
	for _, path := range []string{
		s.layout.Topology(topologyID), filepath.Join(s.layout.UserFiles(owner), "words.txt.1"),
		filepath.Join(s.layout.UserFiles(owner), "words.txt.current"), filepath.Join(s.layout.UserArchives(owner), "model.zip.1"),
	} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	if c := content(t, s.layout.UserFiles(owner), "stop.words.current"); c != "stop.words" {
		t.Errorf("stop.words holds %q", c)
	}
}

func TestCleanAboveTheCacheSize(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.nimbus.submitAll(t)
	for _, key := range []string{"words.txt", "stop.words"} {
		s.nimbus.put(key, make([]byte, 1000))
	}
	s.localize(t, 1, nil)
	s.Release(topologyID, 1)
	files := s.layout.UserFiles(owner)
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"words.txt.2", "words.txt.version"} {
		must(t, os.Chtimes(filepath.Join(files, name), old, old))
	}
	must(t, os.Remove(filepath.Join(files, "words.txt.current")))
	_, topologies := s.unusedTopologies()
	_, blobs := s.unusedBlobs()
	s.cfg.CacheBytes = topologies + blobs - 1
	s.clean(t.Context())
	if _, err := os.Stat(filepath.Join(files, "words.txt.2")); err == nil {
		t.Error("the least recently used blob is still there")
	}
	if c := content(t, files, "stop.words.current"); len(c) != 1000 {
		t.Error("a recently used blob is gone")
	}
}

// TestCleanLeavesWhatIsBeingWritten cleans in the middle of a commit: the new version and a temporary file are there, the link
// still leads to the old version.
func TestCleanLeavesWhatIsBeingWritten(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.CheckEvery = time.Nanosecond })
	s.nimbus.submitAll(t)
	s.localize(t, 1, nil)
	files := s.layout.UserFiles(owner)
	fresh, temporary := filepath.Join(files, "stop.words.2"), localstate.TempName(files, "stop.words.version")
	must(t, errors.Join(os.WriteFile(fresh, []byte("v2"), 0o600), os.WriteFile(temporary, []byte("2"), 0o600)))
	s.mu.Lock()
	b := s.blobs[filepath.Join(files, "stop.words")]
	s.mu.Unlock()
	must(t, b.acquire(t.Context()))
	s.clean(t.Context())
	b.release()
	for _, path := range []string{fresh, temporary} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("removed while somebody wrote it: %v", err)
		}
	}
	s.clean(t.Context())
	if _, err := os.Stat(fresh); err == nil {
		t.Error("a version that nothing leads to is still there")
	}
	s.again(t).localize(t, 1, nil)
	if _, err := os.Stat(temporary); err == nil {
		t.Error("a temporary file is still there after the next start")
	}
}

func TestCleanDropsOldVersions(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.CheckEvery = time.Nanosecond })
	s.nimbus.submitAll(t)
	s.localize(t, 1, nil)
	s.nimbus.put("stop.words", []byte("v2"))
	s.Check(t.Context())
	s.clean(t.Context())
	if _, err := os.Stat(filepath.Join(s.layout.UserFiles(owner), "stop.words.1")); err == nil {
		t.Error("the old version is still there")
	}
	if c := content(t, s.layout.Topology(topologyID), "stop.words"); c != "v2" {
		t.Errorf("stop.words holds %q", c)
	}
}
