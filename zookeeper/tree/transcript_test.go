// SPDX-License-Identifier: Apache-2.0

// Stories in testdata: clients ask, the tree answers, watches fire. `-rewrite` updates them.

package tree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/gust-stream/gust/zookeeper/jute"
)

// story is the state of one file.
type story struct {
	t       *Tree
	now     int64
	clients map[string]*Client
	log     []byte
	saved   []byte // a snapshot, while and after it is taken
	ended   bool
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		t.Helper()
		s := &story{t: New(), now: 1000, clients: map[string]*Client{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			var out strings.Builder
			out.WriteString(s.command(t, d))
			for _, e := range s.t.TakeEvents() {
				fmt.Fprintf(&out, "event to %d: %d %s zxid %d\n", e.Client.ID, e.Type, e.Path, e.Zxid)
			}
			if out.Len() == 0 {
				return "ok\n"
			}
			return out.String()
		})
	})
}

// arg reads key=value of a command, def if there is none.
func arg(d *datadriven.TestData, key, def string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return a.Vals[0]
		}
	}
	return def
}

func (s *story) client(d *datadriven.TestData) *Client { return s.clients[arg(d, "by", "a")] }

func (s *story) command(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "session": // session ID TIMEOUT name=a
		id, timeout := number(t, d.CmdArgs[0].Key), number(t, d.CmdArgs[1].Key)
		s.log = s.t.OpenSession(id, int32(timeout), s.now, s.log)
		s.clients[arg(d, "name", "a")] = &Client{ID: uint64(len(s.clients) + 1), Session: id}
		return ""
	case "identity": // identity scheme:id by=a
		scheme, id, _ := strings.Cut(d.CmdArgs[0].Key, ":")
		c := s.client(d)
		c.Auth = append(c.Auth, jute.ID{Scheme: scheme, ID: id})
		return ""
	case "end": // the session of by ends
		s.log = s.t.CloseSession(s.client(d).Session, s.now, s.log)
		return fmt.Sprintf("zxid %d\n", s.t.Zxid())
	case "forget": // the connection of by ends
		s.t.Forget(s.client(d))
		return fmt.Sprintf("%d paths watched\n", len(s.t.data.paths)+len(s.t.child.paths))
	case "write": // one write a line
		return s.write(t, d)
	case "multi": // all lines as one
		return s.multi(t, d)
	case "read": // one read a line
		return s.read(t, d)
	case "watch", "unwatch", "check-watch": // PATH TYPE a line
		return s.watch(t, d)
	case "again": // setWatches: "zxid N", then kind and path a line
		return s.again(t, d)
	case "containers":
		for _, p := range s.t.Containers() {
			s.log = s.t.DeleteContainer(p, s.now, s.log)
		}
		return fmt.Sprintf("zxid %d\n", s.t.Zxid())
	case "begin-snapshot":
		s.saved, s.ended = nil, false
		return fmt.Sprintf("of zxid %d\n", s.t.BeginSnapshot())
	case "snapshot": // some more of it
		records, done := s.t.NextSnapshot(int(number(t, arg(d, "size", "1"))))
		s.saved, s.ended = append(s.saved, records...), done
		return fmt.Sprintf("done %v\n", done)
	case "load": // what the snapshot holds
		l := NewLoader()
		if err := l.Add(s.saved); err != nil {
			t.Fatal(err)
		}
		loaded, err := l.Tree()
		if err != nil {
			return err.Error() + "\n"
		}
		return dump(loaded)
	case "replay": // all changes, from the beginning
		fresh := New()
		if err := fresh.Replay(s.log); err != nil {
			t.Fatal(err)
		}
		if got, want := dump(fresh), dump(s.t); got != want {
			t.Fatalf("replayed tree differs:\n%s\nnot\n%s", got, want)
		}
		return "the same\n"
	case "dump":
		return dump(s.t)
	}
	t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	return ""
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// parseWrite reads "create PATH DATA [flags=N] [acl=perms:scheme:id,...]", "delete PATH
// [version=N]", "set PATH DATA [version=N]", "acl PATH ACL [version=N]", "check PATH [version=N]".
func parseWrite(t *testing.T, line string) jute.Write {
	t.Helper()
	f := strings.Fields(line)
	w := jute.Write{Version: -1, TTL: -1, ACL: []jute.ACL{{Perms: jute.PermAll, ID: anyone()}}}
	ops := map[string]jute.Op{
		"create": jute.OpCreate, "container": jute.OpCreateContainer, "ttl": jute.OpCreateTTL,
		"delete": jute.OpDelete, "set": jute.OpSetData, "acl": jute.OpSetACL, "check": jute.OpCheck,
	}
	op, ok := ops[f[0]]
	if !ok {
		t.Fatalf("unknown write %q", line)
	}
	w.Op, w.Path = op, f[1]
	for _, a := range f[2:] {
		key, val, named := strings.Cut(a, "=")
		switch {
		case named && key == "flags":
			w.Flags = int32(number(t, val))
		case named && key == "version":
			w.Version = int32(number(t, val))
		case named && key == "acl":
			w.ACL = parseACL(t, val)
		default:
			w.Data = []byte(a)
		}
	}
	return w
}

func parseACL(t *testing.T, s string) []jute.ACL {
	t.Helper()
	var out []jute.ACL
	for part := range strings.SplitSeq(s, ",") {
		if f := strings.SplitN(part, ":", 3); len(f) == 3 {
			out = append(out, jute.ACL{Perms: int32(number(t, f[0])), ID: jute.ID{Scheme: f[1], ID: f[2]}})
		}
	}
	return out
}

func showStat(st jute.Stat) string {
	return fmt.Sprintf("c%d m%d p%d v%d/%d/%d owner %x len %d kids %d", st.Czxid, st.Mzxid, st.Pzxid,
		st.Version, st.Cversion, st.Aversion, st.EphemeralOwner, st.DataLength, st.NumChildren)
}

func showResult(r Result) string {
	if r.Code != jute.OK {
		return r.Code.String()
	}
	return strings.TrimSpace("ok " + r.Path)
}

func (s *story) write(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		s.now++
		var r Result
		r, s.log = s.t.Write(s.client(d), s.now, parseWrite(t, line), s.log)
		fmt.Fprintln(&out, showResult(r))
	}
	return out.String()
}

func (s *story) multi(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var ws []jute.Write
	for line := range strings.Lines(d.Input) {
		ws = append(ws, parseWrite(t, line))
	}
	s.now++
	var out strings.Builder
	results, log, _ := s.t.Multi(s.client(d), s.now, ws, s.log)
	s.log = log
	for _, r := range results {
		fmt.Fprintln(&out, showResult(r))
	}
	return out.String()
}

func (s *story) read(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		c, watch := s.client(d), len(f) > 2
		var text string
		var code jute.Code
		var st jute.Stat
		switch f[0] {
		case "exists":
			st, code = s.t.Exists(c, f[1], watch)
			text = showStat(st)
		case "get":
			var data []byte
			data, st, code = s.t.GetData(c, f[1], watch)
			text = fmt.Sprintf("%q %s", data, showStat(st))
		case "children":
			var names []string
			names, st, code = s.t.GetChildren(c, f[1], watch)
			text = fmt.Sprintf("%v %s", names, showStat(st))
		case "acl":
			var acl []jute.ACL
			acl, _, code = s.t.GetACL(c, f[1])
			text = fmt.Sprint(acl)
		case "count":
			var n int32
			n, code = s.t.ChildrenNumber(c, f[1])
			text = strconv.Itoa(int(n))
		case "ephemerals":
			text = fmt.Sprint(s.t.Ephemerals(c, f[1]))
		default:
			t.Fatalf("unknown read %q", line)
		}
		if code != jute.OK {
			text = code.String()
		}
		fmt.Fprintln(&out, text)
	}
	return out.String()
}

func (s *story) watch(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		n := int32(number(t, f[1]))
		var code jute.Code
		switch d.Cmd {
		case "watch":
			code = s.t.AddWatch(s.client(d), f[0], n)
		case "unwatch":
			code = s.t.RemoveWatches(s.client(d), f[0], jute.WatchType(n))
		default:
			code = s.t.CheckWatches(s.client(d), f[0], jute.WatchType(n))
		}
		fmt.Fprintln(&out, code.String())
	}
	return out.String()
}

func (s *story) again(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var w jute.Watches
	lists := map[string]*[]string{
		"data": &w.Data, "exist": &w.Exist, "child": &w.Child, "persistent": &w.Persistent, "recursive": &w.PersistentDeep,
	}
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		if f[0] == "zxid" {
			w.Zxid = number(t, f[1])
			continue
		}
		*lists[f[0]] = append(*lists[f[0]], f[1])
	}
	return s.t.SetWatches(s.client(d), w).String() + "\n"
}

// dump prints everything that a restart must keep.
func dump(t *Tree) string {
	var out strings.Builder
	fmt.Fprintf(&out, "zxid %d\n", t.Zxid())
	for _, s := range t.Sessions() {
		fmt.Fprintf(&out, "session %x timeout %d owns", s.ID, s.Timeout)
		for _, p := range t.Ephemerals(&Client{Session: s.ID}, "") {
			fmt.Fprintf(&out, " %s", p)
		}
		fmt.Fprintln(&out)
	}
	paths := make([]string, 0, len(t.nodes))
	for p := range t.nodes {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		n := t.nodes[p]
		fmt.Fprintf(&out, "%s %q nil=%v container=%v %s t%d-%d %v %v\n", p, n.data, n.data == nil, n.owner == ContainerOwner, showStat(n.stat()), n.ctime, n.mtime, n.acl.list, n.names())
	}
	fmt.Fprintf(&out, "containers %v, %d acls\n", t.Containers(), len(t.acls.entries))
	return out.String()
}
