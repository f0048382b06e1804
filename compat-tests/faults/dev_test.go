// SPDX-License-Identifier: Apache-2.0

// This file attacks the listeners of a running gust dev, and looks at what it
// shows of secrets and where it listens.

package faults

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gust-stream/gust/compat-tests/site"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"
)

// Secrets that no answer, log or file for others may hold.
const (
	confSecret       = "secret-of-storm-yaml"
	topologySecret   = "secret-of-the-topology"
	credentialSecret = "secret-of-the-credentials"
)

// TestDev shares one gust dev, with one worker, among tests that leave it whole.
func TestDev(t *testing.T) {
	umask := 0
	s := open(t, site.Options{
		Dir: t.TempDir(), Dev: true, Slots: 2, Umask: &umask,
		More: []string{"ui.https.keystore.password: " + confSecret, "site.own.api.token: " + confSecret},
	})
	check(t, s.Start(t.Context()))
	r := &rig{Site: s, steady: s.NewSteady("steady", 1)}
	check(t, r.steady.Submit(t.Context(), "site.db.password="+topologySecret))
	check(t, r.steady.Flow(t.Context(), 20, jvmLimit))
	r.acknowledge(t)
	check(t, s.Ask(t.Context(), func(ctx context.Context, nimbus *leader.Nimbus) error {
		return nimbus.UploadNewCredentials(ctx, r.steady.Name, &storm.Credentials{Creds: map[string]string{"key": credentialSecret}})
	}))
	facts, err := s.Facts(t.Context(), r.steady.Name, site.UsersBlob)
	check(t, err)
	r.facts = facts

	for _, each := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"ListensOnLoopbackOnly", r.listensOnLoopbackOnly},
		{"SecretFilesAreTheOwners", r.secretFilesAreTheOwners},
		{"SecretsStayInside", r.secretsStayInside},
		{"JarOutsideTheInbox", r.jarOutsideTheInbox},
		{"LocalNames", r.localNames},
		{"StrategyClass", r.strategyClass},
		{"ArchiveThatClimbs", r.archiveThatClimbs},
		{"HostilePeers", r.hostilePeers},
		{"StoppedAndStarted", r.stoppedAndStarted},
	} {
		if !t.Run(each.name, each.run) {
			t.FailNow()
		}
	}
}

// listensOnLoopbackOnly reads the kernel's own list of the process's listeners.
func (r *rig) listensOnLoopbackOnly(t *testing.T) {
	listeners := listeners(t, r.Daemon(site.Dev).PID())
	var ports []int
	for _, l := range listeners {
		if l.host != "0100007F" && l.host != "00000000000000000000000001000000" {
			t.Errorf("port %d listens on %s, which is not loopback", l.port, l.host)
		}
		ports = append(ports, l.port)
	}
	slices.Sort(ports)
	want := []int{r.NimbusPort, r.ZooKeeperPort, r.SupervisorPort(site.Dev)}
	slices.Sort(want)
	same(t, "ports that are listened on", want, slices.Compact(ports))
}

// listener is one line of /proc/net/tcp: the address in the kernel's hexadecimal.
type listener struct {
	host string
	port int
}

func listeners(t *testing.T, pid int) (found []listener) {
	t.Helper()
	own := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	check(t, err)
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:[") {
			own[strings.Trim(to, "socket:[]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a machine without IPv6
		}
		check(t, err)
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			const listening = "0A"
			fields := strings.Fields(lines.Text())
			if len(fields) < 10 || fields[3] != listening || !own[fields[9]] {
				continue
			}
			var l listener
			_, err := fmt.Sscanf(strings.Replace(fields[1], ":", " ", 1), "%s %X", &l.host, &l.port)
			check(t, err)
			found = append(found, l)
		}
	}
	return found
}

// secretFilesAreTheOwners looks at every file that gust wrote under a umask of 0.
func (r *rig) secretFilesAreTheOwners(t *testing.T) {
	kinds := map[string]int{}
	local := r.LocalDir(site.Dev)
	check(t, filepath.WalkDir(r.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(path, filepath.Join(r.Dir, "confs")) {
			return err
		}
		kind := ""
		switch {
		case strings.HasPrefix(path, filepath.Join(local, "zookeeper")):
			kind = "cluster state"
		case strings.HasPrefix(path, filepath.Join(local, "blobs")):
			kind = "blob"
		case strings.HasPrefix(path, filepath.Join(local, "nimbus", "inbox")):
			kind = "inbox"
		case strings.HasPrefix(path, filepath.Join(r.Dir, "logs")):
			return nil // stock workers write their logs, and their confs into them, with the rights that their umask leaves
		case d.Name() == "stormconf.ser" || d.Name() == "stormcode.ser":
			kind = "localized " + d.Name()
		case path == filepath.Join(r.Dir, "conf", "storm.yaml"):
			kind = "storm.yaml"
		default:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if !bytes.Contains(text, []byte(confSecret)) && !bytes.Contains(text, []byte(topologySecret)) && !bytes.Contains(text, []byte(credentialSecret)) {
				return nil
			}
			kind = "other file with a secret"
		}
		kinds[kind]++
		info, err := d.Info()
		if err != nil {
			return err
		}
		if others := info.Mode().Perm() & 0o077; others != 0 {
			t.Errorf("%s (%s) has mode %v", path, kind, info.Mode())
		}
		return nil
	}))
	for _, kind := range []string{"cluster state", "blob", "inbox", "localized stormconf.ser", "storm.yaml"} {
		if kinds[kind] == 0 {
			t.Errorf("no file of kind %q was found: %v", kind, kinds)
		}
	}
}

// secretsStayInside asks everything that could show a secret.
func (r *rig) secretsStayInside(t *testing.T) {
	var answers []any
	ask := func(what string, call func(ctx context.Context, nimbus *leader.Nimbus) (any, error)) {
		check(t, r.Ask(t.Context(), func(ctx context.Context, nimbus *leader.Nimbus) error {
			answer, err := call(ctx, nimbus)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			answers = append(answers, []any{what, answer})
			return nil
		}))
	}
	ask("getNimbusConf", func(ctx context.Context, n *leader.Nimbus) (any, error) { return n.GetNimbusConf(ctx) })
	ask("getTopologyConf", func(ctx context.Context, n *leader.Nimbus) (any, error) { return n.GetTopologyConf(ctx, r.steady.ID) })
	ask("getTopologyInfo", func(ctx context.Context, n *leader.Nimbus) (any, error) { return n.GetTopologyInfo(ctx, r.steady.ID) })
	ask("getTopologyPageInfo", func(ctx context.Context, n *leader.Nimbus) (any, error) {
		return n.GetTopologyPageInfo(ctx, r.steady.ID, ":all-time", true)
	})
	ask("getComponentPageInfo", func(ctx context.Context, n *leader.Nimbus) (any, error) {
		return n.GetComponentPageInfo(ctx, r.steady.ID, "pass", ":all-time", true)
	})
	ask("getSupervisorPageInfo", func(ctx context.Context, n *leader.Nimbus) (any, error) {
		return n.GetSupervisorPageInfo(ctx, "", "localhost", true)
	})
	ask("getClusterInfo", func(ctx context.Context, n *leader.Nimbus) (any, error) { return n.GetClusterInfo(ctx) })
	for _, answer := range answers {
		text, err := json.Marshal(answer)
		check(t, err)
		for _, secret := range []string{confSecret, topologySecret, credentialSecret} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%.40s shows %q", text, secret)
			}
		}
	}
	// They show that the keys are set.
	text, err := json.Marshal(answers[:2])
	check(t, err)
	contains(t, "the confs", string(text), "ui.https.keystore.password", "site.own.api.token", "site.db.password")
	output := r.Daemon(site.Dev).Output()
	for _, secret := range []string{confSecret, topologySecret, credentialSecret} {
		if strings.Contains(output, secret) {
			t.Errorf("the log of gust holds %q", secret)
		}
	}
}

// submit submits the code of the steady topology, with a JAR at some place and
// more entries of the conf.
func (r *rig) submit(ctx context.Context, name, location string, conf map[string]any) error {
	if conf == nil {
		conf = map[string]any{}
	}
	text, err := json.Marshal(conf)
	if err != nil {
		return err
	}
	return r.Ask(ctx, func(ctx context.Context, nimbus *leader.Nimbus) error {
		code, err := nimbus.GetUserTopology(ctx, r.steady.ID)
		if err != nil {
			return err
		}
		return nimbus.SubmitTopology(ctx, name, location, string(text), code)
	})
}

// invalid fails unless an error is Storm's InvalidTopologyException with the word, and nothing was stored.
func (r *rig) invalid(t *testing.T, err error, word string) {
	t.Helper()
	refusal, ok := errors.AsType[*storm.InvalidTopologyException](err)
	if !ok {
		t.Errorf("no InvalidTopologyException with %q but %v", word, err)
		return
	}
	contains(t, "the refusal", refusal.Msg, word)
	id, err := r.TopologyID(t.Context(), "refused")
	check(t, err)
	same(t, "topology that was refused", "", id)
	keys, err := r.BlobKeys(t.Context())
	check(t, err)
	if slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, "refused-") }) {
		t.Errorf("blobs of a topology that was refused: %v", keys)
	}
}

func (r *rig) jarOutsideTheInbox(t *testing.T) {
	inbox := filepath.Dir(r.upload(t))
	link := filepath.Join(inbox, "stormjar-link.jar")
	check(t, os.Symlink("/etc/hostname", link))
	for _, location := range []string{"/etc/hostname", "/no/such/file", inbox + "/../../../../../../../../../../etc/hostname", inbox + "/../zookeeper/store", link} {
		r.invalid(t, r.submit(t.Context(), "refused", location, nil), "is not in the inbox")
	}
}

func (r *rig) localNames(t *testing.T) {
	location := r.upload(t)
	for _, name := range []string{"../up", "a/../../up", "/absolute", "sub/folder", "..", "."} {
		conf := map[string]any{"topology.blobstore.map": map[string]any{site.UsersBlob: map[string]any{"localname": name}}}
		r.invalid(t, r.submit(t.Context(), "refused", location, conf), "'"+name+"'")
	}
}

func (r *rig) strategyClass(t *testing.T) {
	conf := map[string]any{"topology.scheduler.strategy": "java.lang.Runtime"}
	r.invalid(t, r.submit(t.Context(), "refused", r.upload(t), conf), "java.lang.Runtime")
}

// archiveThatClimbs has a supervisor unpack a zip whose entry leads out of its folder.
func (r *rig) archiveThatClimbs(t *testing.T) {
	const key = "climbs.zip"
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, name := range []string{"inside", "../../../../../../../climbed"} {
		entry, err := w.Create(name)
		check(t, err)
		_, err = entry.Write([]byte("content"))
		check(t, err)
	}
	check(t, w.Close())
	check(t, r.PutBlob(t.Context(), key, archive.Bytes(), false))
	brief := r.NewSteady("brief", 1)
	check(t, brief.SubmitLike(t.Context(), r.steady, map[string]any{
		"topology.blobstore.map": map[string]any{key: map[string]any{"uncompress": true}},
	}))
	await(t, jvmLimit, "the supervisor to refuse the archive", func(context.Context) (bool, error) {
		output := r.Daemon(site.Dev).Output()
		return strings.Contains(output, "archive refused") && strings.Contains(output, key) && strings.Contains(output, "climbed"), nil
	})
	workers, err := r.WorkersOf(brief.ID)
	check(t, err)
	same(t, "workers of the topology with the archive", 0, len(workers))
	check(t, r.KillTopology(t.Context(), brief.Name))
	check(t, filepath.WalkDir(r.Dir, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) == "climbed" {
			t.Errorf("%s was unpacked", path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the daemon works meanwhile
		}
		return err
	}))
}

// stoppedAndStarted ends gust dev as Ctrl-C does: its workers go with it, and all
// come back.
func (r *rig) stoppedAndStarted(t *testing.T) {
	r.Daemon(site.Dev).Stop()
	left, err := r.Workers()
	check(t, err)
	same(t, "workers that outlived gust dev", 0, len(left))
	check(t, r.StartDaemon(t.Context(), site.Dev))
	check(t, r.steady.Flow(t.Context(), 100, lostLimit))
	r.whole(t)
}

// thriftCall is a call of Nimbus, with its frame, as any client sends it.
func thriftCall(method string) []byte {
	message := binary.BigEndian.AppendUint32(nil, 0x80010001)
	message = binary.BigEndian.AppendUint32(message, uint32(len(method))) //nolint:gosec // a short name
	message = append(message, method...)
	message = append(message, 0, 0, 0, 1, 0)                                            // sequence number, end of the empty argument struct
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...) //nolint:gosec // short
}
