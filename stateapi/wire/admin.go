// SPDX-License-Identifier: Apache-2.0

// This file has the requests of the people who look after states; they are answered to the server's own user and to root.

package wire

import "github.com/gust-stream/gust/stateapi"

// The requests of "gust state".
const (
	List     Type = 64 + iota // nothing; answer: u32 count, then Infos
	Verify                    // nothing; answer: a string, what is damaged, "" if nothing
	Remove                    // a name; answer: nothing
	Snapshot                  // nothing; answer: nothing
)

// Info describes one state to people.
type Info struct {
	stateapi.Definition
	Session   uint64
	Commit    uint64
	Applied   uint64
	Prepared  bool
	TxID      int64 // of what is prepared
	Entries   uint64
	Bytes     uint64 // of memory
	Opened    int64  // milliseconds since 1970
	Damage    string // why it does not work
	Connected bool   // a client has it open
}

// Append appends the Info.
func (i *Info) Append(b *Builder) {
	(&OpenRequest{Definition: i.Definition, Resume: i.Session}).Append(b)
	b.U64(i.Commit)
	b.U64(i.Applied)
	b.Bool(i.Prepared)
	b.U64(uint64(i.TxID))
	b.U64(i.Entries)
	b.U64(i.Bytes)
	b.U64(uint64(i.Opened))
	b.String(i.Damage)
	b.Bool(i.Connected)
}

// ReadInfo reads an Info.
func ReadInfo(f *Fields) Info {
	o := ReadOpenRequest(f)
	return Info{
		Definition: o.Definition, Session: o.Resume, Commit: f.U64(), Applied: f.U64(), Prepared: f.Bool(), TxID: int64(f.U64()),
		Entries: f.U64(), Bytes: f.U64(), Opened: int64(f.U64()), Damage: f.String(), Connected: f.Bool(),
	}
}

// AppendName appends a name.
func AppendName(b *Builder, n stateapi.Name) {
	b.String(n.Topology)
	b.String(n.Owner)
	b.String(n.Component)
	b.U32(uint32(n.Task))
}

// ReadName reads a name.
func ReadName(f *Fields) stateapi.Name {
	return stateapi.Name{Topology: f.String(), Owner: f.String(), Component: f.String(), Task: int32(f.U32())}
}
