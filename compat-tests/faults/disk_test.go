// SPDX-License-Identifier: Apache-2.0

// This file fills the disks of single daemons and damages their files.

package faults

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/site"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"
)

// files lists all files below a folder, with their sizes.
func files(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		found[path] = info.Size()
		return err
	}))
	return found
}

// refused submits what is in the inbox already and fails unless that is refused
// with the word, and nothing of it is stored.
func (r *rig) refused(t *testing.T, location, word string) {
	t.Helper()
	blobs := filepath.Join(r.LocalDir(site.Nimbus), "blobs")
	keys, err := r.BlobKeys(t.Context())
	check(t, err)
	before := files(t, blobs)
	err = r.submitUploaded(t.Context(), "refused", location)
	if err == nil {
		t.Fatal("a submit was taken in with a full disk")
	}
	contains(t, "the refusal", err.Error(), word)
	id, err := r.TopologyID(t.Context(), "refused")
	check(t, err)
	same(t, "topology that was refused", "", id)
	after, err := r.BlobKeys(t.Context())
	check(t, err)
	same(t, "blob keys", keys, after)
	same(t, "blob files", before, files(t, blobs))
}

// submitUploaded submits the code of the steady topology with a JAR that was sent before.
func (r *rig) submitUploaded(ctx context.Context, name, location string) error {
	return r.Ask(ctx, func(ctx context.Context, nimbus *leader.Nimbus) error {
		code, err := nimbus.GetUserTopology(ctx, r.steady.ID)
		if err != nil {
			return err
		}
		conf := fmt.Sprintf(`{"compat.out": %q, "topology.workers": 1}`, filepath.Join(r.Dir, "results", name))
		return nimbus.SubmitTopology(ctx, name, location, conf, code)
	})
}

// upload sends the JAR of the topologies.
func (r *rig) upload(t *testing.T) (location string) {
	t.Helper()
	jar, err := harness.Jar()
	check(t, err)
	check(t, r.Ask(t.Context(), func(ctx context.Context, nimbus *leader.Nimbus) error {
		location, err = site.Upload(ctx, nimbus, jar)
		return err
	}))
	return location
}

// works shows that a topology can be submitted and runs.
func (r *rig) works(t *testing.T) {
	t.Helper()
	after := r.NewSteady("after", 1)
	check(t, after.SubmitLike(t.Context(), r.steady, nil))
	check(t, after.Flow(t.Context(), 10, jvmLimit))
	check(t, r.KillTopology(t.Context(), after.Name))
}

func (r *rig) nimbusDiskFull(t *testing.T) {
	r.untouched(t, func() {
		location := r.upload(t)
		free := fill(t, r.LocalDir(site.Nimbus))
		check(t, r.Ask(t.Context(), func(ctx context.Context, nimbus *leader.Nimbus) error {
			_, err := site.UploadFrom(ctx, nimbus, bytes.NewReader(make([]byte, 1<<20)))
			if err == nil {
				t.Error("a JAR was taken in with a full disk")
				return nil
			}
			contains(t, "the refusal", err.Error(), "no space left")
			return nil
		}))
		r.refused(t, location, "no space left")
		check(t, r.steady.Flow(t.Context(), 100, jvmLimit))
		free()
		r.works(t)
	})
}

func (r *rig) stateDiskFull(t *testing.T) {
	r.untouched(t, func() {
		free := fill(t, r.LocalDir(site.ZooKeeper))
		// The log has room in advance; use that up with changes that stay.
		taken, err := r.pour(t.Context(), "last")
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the cluster state refused a change with %v", err)
		}
		r.refused(t, r.upload(t), "no space left")
		check(t, r.steady.Flow(t.Context(), 100, jvmLimit))
		free()
		state, err := r.State(t.Context())
		check(t, err)
		defer state.Close()
		credentials, err := state.Credentials(t.Context(), "last")
		check(t, err)
		same(t, "the last change that was acknowledged", taken, credentials.GetCreds()["n"])
		check(t, state.RemoveCredentials(t.Context(), "last"))
		r.works(t)
	})
}

// pour writes into the cluster state, less and less, until not even the smallest
// change is taken in, and gives what was acknowledged last.
func (r *rig) pour(ctx context.Context, node string) (taken string, err error) {
	state, err := r.State(ctx)
	if err != nil {
		return "", err
	}
	defer state.Close()
	ballast := make([]byte, 30_000)
	_, _ = rand.Read(ballast) // as documented, it never fails
	i := 0
	for size := len(ballast); size > 0; {
		i++
		creds := map[string]string{"n": fmt.Sprint(i), "ballast": base64.StdEncoding.EncodeToString(ballast[:size])}
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		err = state.SetCredentials(ctx, node, &storm.Credentials{Creds: creds})
		cancel()
		if err == nil {
			taken = creds["n"]
		} else {
			size /= 2
		}
	}
	return taken, err
}

// supervisorDiskFull leaves stock workers without room for heartbeats, of which
// they may die. The supervisor must not, and all goes on when there is room again.
func (r *rig) supervisorDiskFull(t *testing.T) {
	free := []func(){fill(t, r.LocalDir(supB))}
	for _, w := range r.workersOn(t, supB)[:1] {
		check(t, w.Kill()) // so that the supervisor has something to write
	}
	await(t, jvmLimit, "the supervisor to say that its disk is full", func(context.Context) (bool, error) {
		free = append(free, fill(t, r.LocalDir(supB))) // what the dead worker gave back
		return strings.Contains(r.Daemon(supB).Output(), "no space left"), r.Daemon(supB).Ended()
	})
	for _, each := range free {
		each()
	}
	check(t, r.steady.Flow(t.Context(), 600, lostLimit))
	check(t, r.Daemon(supB).Ended())
	r.workers(t)
	r.whole(t)
}

// blobDamaged flips a bit of a blob on Nimbus's disk: no worker may get to see it.
func (r *rig) blobDamaged(t *testing.T) {
	r.untouched(t, func() {
		const key = "fragile"
		content := []byte("the content of a blob")
		check(t, r.PutBlob(t.Context(), key, content, false))
		paths, err := filepath.Glob(filepath.Join(r.LocalDir(site.Nimbus), "blobs", "*", "data_"+key, "data"))
		check(t, err)
		if len(paths) != 1 {
			t.Fatalf("files of the blob: %v", paths)
		}
		flip(t, paths[0], 5)
		brief := r.NewSteady("brief", 1)
		check(t, brief.SubmitLike(t.Context(), r.steady, map[string]any{"topology.blobstore.map": map[string]any{key: map[string]any{}}}))
		await(t, jvmLimit, "a supervisor to refuse the blob", func(context.Context) (bool, error) {
			return slices.ContainsFunc([]string{supA, supB}, func(name string) bool {
				return slices.ContainsFunc(strings.Split(r.Daemon(name).Output(), "\n"), func(line string) bool {
					return strings.Contains(line, key) && strings.Contains(line, "checksum")
				})
			}), nil
		})
		workers, err := r.WorkersOf(brief.ID)
		check(t, err)
		if len(workers) > 0 {
			t.Errorf("a worker was started with a damaged blob: %v", workers)
		}
		// A whole blob is all that it waits for.
		check(t, r.PutBlob(t.Context(), key, content, true))
		check(t, brief.Flow(t.Context(), 10, jvmLimit))
		check(t, r.KillTopology(t.Context(), brief.Name))
	})
}

// blobDamagedMeanwhile flips a bit of the topology's JAR while there is no Nimbus:
// it is no new version that workers are restarted for.
func (r *rig) blobDamagedMeanwhile(t *testing.T) {
	key := r.steady.ID + "-stormjar.jar"
	paths, err := filepath.Glob(filepath.Join(r.LocalDir(site.Nimbus), "blobs", "*", "data_"+key, "data"))
	check(t, err)
	if len(paths) != 1 {
		t.Fatalf("files of the blob: %v", paths)
	}
	r.untouched(t, func() {
		r.Daemon(site.Nimbus).Kill()
		flip(t, paths[0], 1000)
		check(t, r.StartDaemon(t.Context(), site.Nimbus))
		check(t, r.Ask(t.Context(), func(ctx context.Context, nimbus *leader.Nimbus) error {
			if meta, err := nimbus.GetBlobMeta(ctx, key); err == nil {
				t.Errorf("the damaged blob has version %d", meta.Version)
			}
			return nil
		}))
		contains(t, "nimbus", r.Daemon(site.Nimbus).Output(), paths[0], "checksum")
		check(t, r.steady.Flow(t.Context(), 100, jvmLimit))
		flip(t, paths[0], 1000) // as it was, so that all that was acknowledged can be looked at
	})
}

// flip changes one bit of a file.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	check(t, err)
	one := make([]byte, 1)
	_, err = file.ReadAt(one, at)
	check(t, err)
	one[0] ^= 0x10
	_, err = file.WriteAt(one, at)
	check(t, err)
	check(t, file.Close())
}

// localStateTorn leaves what a crash in the middle of a write leaves: a version
// that was never completed. It is passed over.
func (r *rig) localStateTorn(t *testing.T) {
	r.untouched(t, func() {
		r.Daemon(supA).Kill()
		newest := slices.Max(r.localState(t))
		check(t, os.WriteFile(filepath.Join(filepath.Dir(newest), "9999999999999"), []byte("half of a rec"), 0o600))
		check(t, r.StartDaemon(t.Context(), supA))
	})
}

// localStateDamaged flips bits in every version that a supervisor has. It sets them
// aside, says so, and begins anew under its old id.
func (r *rig) localStateDamaged(t *testing.T) {
	before := r.workersOn(t, supA)
	id, err := r.SupervisorID(supA)
	check(t, err)
	r.Daemon(supA).Kill()
	for _, path := range r.localState(t) {
		flip(t, path, 0)
	}
	check(t, r.StartDaemon(t.Context(), supA))
	contains(t, "the supervisor", r.Daemon(supA).Output(), "saved state cannot be read", filepath.Join(r.LocalDir(supA), "supervisor", "localstate"))
	again, err := r.SupervisorID(supA)
	check(t, err)
	same(t, "supervisor id", id, again)
	_, err = r.steady.Await(t.Context(), jvmLimit, before...)
	check(t, err)
	check(t, r.steady.Flow(t.Context(), 600, lostLimit))
	r.whole(t)
}

// localState lists the versions of a supervisor's saved state.
func (r *rig) localState(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(r.LocalDir(supA), "supervisor", "localstate", "*[0-9]"))
	check(t, err)
	if len(paths) == 0 {
		t.Fatal("the supervisor has saved nothing")
	}
	return paths
}

// stateDamaged damages copies of the cluster state's files, as a kill -9 left them.
func (r *rig) stateDamaged(t *testing.T) {
	r.untouched(t, func() {
		r.Daemon(site.ZooKeeper).Kill()
		kept := t.TempDir()
		check(t, os.CopyFS(filepath.Join(kept, "as-it-was"), os.DirFS(r.StateDir())))
		check(t, r.StartDaemon(t.Context(), site.ZooKeeper))
		for name, damage := range map[string]func(t *testing.T, log string, acked int64){
			"TornTail":     r.tornTail,
			"CutShort":     r.cutShort,
			"FlippedBit":   r.flippedBit,
			"ZeroedMiddle": r.zeroedMiddle,
		} {
			t.Run(name, func(t *testing.T) {
				dir := filepath.Join(kept, name)
				check(t, os.CopyFS(dir, os.DirFS(filepath.Join(kept, "as-it-was"))))
				logs, err := filepath.Glob(filepath.Join(dir, "log.*"))
				check(t, err)
				mark, err := os.ReadFile(filepath.Join(dir, "mark"))
				check(t, err)
				// The mark says up to where the newest log was acknowledged.
				damage(t, slices.Max(logs), int64(binary.BigEndian.Uint64(mark[16:])))
			})
		}
	})
}

// recovers starts a cluster state over a damaged copy, gives what it says, and
// fails unless what was acknowledged is there.
func (r *rig) recovers(t *testing.T, log string) (output string) {
	t.Helper()
	copied, err := r.RunState(t.Context(), filepath.Dir(log))
	check(t, err)
	defer copied.Daemon(site.ZooKeeper).Stop()
	state, err := copied.State(t.Context())
	check(t, err)
	defer state.Close()
	credentials, err := state.Credentials(t.Context(), r.steady.ID)
	check(t, err)
	same(t, "credentials", r.facts.Credentials, credentials.GetCreds())
	base, err := state.Storm(t.Context(), r.steady.ID)
	check(t, err)
	if base == nil {
		t.Error("the topology is lost")
	}
	return copied.Daemon(site.ZooKeeper).Output()
}

// refuses starts a cluster state over a damaged copy and fails unless it ends
// and names the file and an offset.
func (r *rig) refuses(t *testing.T, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), jvmLimit)
	defer cancel()
	copied, err := r.RunState(ctx, filepath.Dir(log))
	if err == nil {
		copied.Daemon(site.ZooKeeper).Stop()
		t.Fatal("a damaged cluster state was started")
	}
	contains(t, "the refusal", err.Error(), filepath.Base(log), "damaged at offset")
}

// tornTail is what a crash leaves in the middle of a write: the begin of a frame
// that nobody was answered for. It is cut off.
func (r *rig) tornTail(t *testing.T, log string, acked int64) {
	text, err := os.ReadFile(log)
	check(t, err)
	copy(text[acked:], text[acked/2:acked/2+40])
	check(t, os.WriteFile(log, text, 0o600))
	contains(t, "the cluster state", r.recovers(t, log), "cut unfinished end off the log", filepath.Base(log))
}

// cutShort takes away bytes that were acknowledged: the rest is used and the loss
// is said.
func (r *rig) cutShort(t *testing.T, log string, acked int64) {
	check(t, os.Truncate(log, acked-5))
	contains(t, "the cluster state", r.recovers(t, log), "log ends before what was acknowledged", filepath.Base(log), "offset")
}

func (r *rig) flippedBit(t *testing.T, log string, acked int64) {
	flip(t, log, acked/2)
	r.refuses(t, log)
}

func (r *rig) zeroedMiddle(t *testing.T, log string, acked int64) {
	text, err := os.ReadFile(log)
	check(t, err)
	clear(text[acked/2 : acked/2+64])
	check(t, os.WriteFile(log, text, 0o600))
	r.refuses(t, log)
}
