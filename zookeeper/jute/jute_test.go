// SPDX-License-Identifier: Apache-2.0

package jute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWritesComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := Write{Op: rapid.SampledFrom([]Op{OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpSetACL, OpCheck}).Draw(t, "op"), TTL: -1}
		w.Path = rapid.String().Draw(t, "path")
		create := w.Op == OpCreate || w.Op == OpCreate2 || w.Op == OpCreateContainer || w.Op == OpCreateTTL
		if create || w.Op == OpSetData {
			w.Data = rapid.SampledFrom([][]byte{nil, {}, []byte("x")}).Draw(t, "data")
		}
		if create || w.Op == OpSetACL {
			for range rapid.IntRange(0, 3).Draw(t, "acls") {
				w.ACL = append(w.ACL, ACL{Perms: rapid.Int32().Draw(t, "perms"), ID: ID{Scheme: rapid.String().Draw(t, "scheme"), ID: rapid.String().Draw(t, "id")}})
			}
		}
		if create {
			w.Flags = rapid.Int32().Draw(t, "flags")
		} else {
			w.Version = rapid.Int32().Draw(t, "version")
		}
		if w.Op == OpCreateTTL {
			w.TTL = rapid.Int64().Draw(t, "ttl")
		}
		b := w.Append(nil)
		d := NewDecoder(b)
		got := d.Write(w.Op)
		if d.Err() != nil || d.Remaining() != 0 {
			t.Fatalf("%v, %d bytes left", d.Err(), d.Remaining())
		}
		if diff := cmp.Diff(w, got); diff != "" {
			t.Fatal(diff)
		}
		for cut := range b { // every shorter frame is an error, none is a panic
			d := NewDecoder(b[:cut])
			d.Write(w.Op)
			if d.Err() == nil {
				t.Fatalf("%d of %d bytes are taken", cut, len(b))
			}
		}
	})
}

func TestStatComesBack(t *testing.T) {
	t.Parallel()
	s := Stat{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	b := AppendStat(nil, s)
	if got := NewDecoder(b).Stat(); got != s || len(b) != 68 {
		t.Errorf("%+v in %d bytes", got, len(b))
	}
}

// TestLengthsAreHeldAgainstTheFrame allocates nothing for what is only announced.
func TestLengthsAreHeldAgainstTheFrame(t *testing.T) {
	huge := AppendInt(nil, 1<<31-1)
	negative := AppendInt(nil, -2)
	for name, read := range map[string]func(*Decoder){
		"Buffer":  func(d *Decoder) { d.Buffer() },
		"String":  func(d *Decoder) { _ = d.String() },
		"Strings": func(d *Decoder) { d.Strings() },
		"ACLs":    func(d *Decoder) { d.ACLs() },
	} {
		for _, b := range [][]byte{huge, negative, append(huge[:4:4], make([]byte, 100)...)} {
			allocs := testing.AllocsPerRun(1, func() {
				d := NewDecoder(b)
				read(d)
				if d.Err() == nil {
					t.Errorf("%s: taken", name)
				}
			})
			if allocs > 20 { // the error's text
				t.Errorf("%s: %v allocations", name, allocs)
			}
		}
	}
}

func TestNullIsNotEmpty(t *testing.T) {
	t.Parallel()
	for _, v := range [][]byte{nil, {}} {
		if got := NewDecoder(AppendBuffer(nil, v)).Buffer(); (got == nil) != (v == nil) {
			t.Errorf("%#v became %#v", v, got)
		}
	}
	if s := NewDecoder(AppendInt(nil, -1)).String(); s != "" {
		t.Errorf("null string is %q", s)
	}
}

func TestMultiRefusesOtherKinds(t *testing.T) {
	t.Parallel()
	for _, op := range []Op{OpSetACL, OpGetData, OpMulti, OpPing} {
		if _, err := NewDecoder(AppendMultiHeader(nil, op, false, -1)).Multi(); err == nil {
			t.Errorf("multi holds kind %d", op)
		}
	}
	if _, err := NewDecoder(AppendMultiHeader(nil, OpCreate, false, -1)).MultiRead(); err == nil {
		t.Error("multiRead creates")
	}
}

func TestConnectRequests(t *testing.T) {
	t.Parallel()
	b := AppendInt(nil, 0)
	b = AppendLong(b, 7)
	b = AppendInt(b, 4000)
	b = AppendLong(b, 9)
	b = AppendBuffer(b, []byte("pw"))
	want := ConnectRequest{LastZxid: 7, Timeout: 4000, Session: 9, Password: []byte("pw")}
	got, err := DecodeConnect(b)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("old client: %v %s", err, diff)
	}
	want.HasReadOnly, want.ReadOnly = true, true
	got, err = DecodeConnect(AppendBool(b, true))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("new client: %v %s", err, diff)
	}
	if _, err := DecodeConnect(b[:10]); err == nil {
		t.Error("half a request is taken")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{}, int32(1))
	f.Add(Write{Op: OpCreate, Path: "/a", ACL: []ACL{{Perms: 1, ID: ID{"world", "anyone"}}}}.Append(nil), int32(OpCreate))
	f.Add(AppendStrings(AppendLong(nil, 1), []string{"/a", "/b"}), int32(OpSetWatches))
	f.Fuzz(func(t *testing.T, b []byte, op int32) {
		d := NewDecoder(b)
		w := d.Write(Op(op))
		if d.Err() == nil && IsWrite(Op(op)) && len(w.Path) > len(b) {
			t.Error("a path longer than the frame")
		}
		if ws, err := NewDecoder(b).Multi(); err == nil && len(ws) > len(b)/17 {
			t.Errorf("%d parts in %d bytes", len(ws), len(b))
		}
		_, _ = NewDecoder(b).MultiRead()
		NewDecoder(b).Watches(true)
		NewDecoder(b).Auth()
		NewDecoder(b).Stat()
		_, _ = DecodeConnect(b)
	})
}
