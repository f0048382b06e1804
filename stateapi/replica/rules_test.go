// SPDX-License-Identifier: Apache-2.0

// This file tests single rules; internal/sim tests them together.

package replica_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/stateapi/replica"
)

func complete(epoch uint64, p replica.Position) replica.Copy {
	return replica.Copy{Epoch: epoch, Complete: true, Position: p}
}

func TestCopyRefusesAnOldEpochAndAGap(t *testing.T) {
	t.Parallel()
	c := complete(3, replica.Position{Last: 7})
	if v, _ := c.Append(2, replica.Record{Number: 8, Kind: replica.Prepare, Shards: 1}, 7); v != replica.Refused {
		t.Errorf("an older epoch's record: %v", v)
	}
	if v, _ := c.Append(3, replica.Record{Number: 9, Kind: replica.Prepare, Shards: 1}, 8); v != replica.Gap {
		t.Errorf("a record after one that never came: %v", v)
	}
	if v, e := c.Append(3, replica.Record{Number: 7, Kind: replica.Prepare, Shards: 1}, 6); v != replica.Taken || e != (replica.Effect{}) {
		t.Errorf("a record again: %v %v", v, e)
	}
	if c.Seal(2) || !c.Seal(4) || c.Epoch != 4 {
		t.Errorf("seals: epoch is %d", c.Epoch)
	}
	if v, _ := c.Append(3, replica.Record{Number: 8, Kind: replica.Prepare, Shards: 1}, 7); v != replica.Refused {
		t.Errorf("a record after the seal: %v", v)
	}
}

func TestOwnerWaitsForEveryCopyAndNotForLearners(t *testing.T) {
	t.Parallel()
	o := replica.NewOwner(make([]replica.Position, 2), replica.FirstNumber(1), replica.Record{})
	o.Configure(0, 1, []replica.Peer{"a"}, nil, []replica.Peer{"l"})
	if r := o.Propose(replica.Write, 0, 0b10, 0); r.Shards != 0b11 {
		t.Errorf("the record touches %b, want shard 0 too", r.Shards)
	}
	o.Synced("a", 0, 1, replica.Position{})
	o.Answered("a", 0, 1, o.Current().Number, replica.Taken)
	if o.Done() {
		t.Error("done before Nimbus named the copies of shard 1")
	}
	o.Configure(1, 1, []replica.Peer{"b"}, nil, nil)
	if diff := cmp.Diff([]replica.Peer{"b"}, o.Waiting()); diff != "" || o.Done() {
		t.Errorf("waits for the wrong ones (-want +got):\n%s", diff)
	}
	o.Synced("b", 1, 1, replica.Position{})
	if sends := o.Sends("b"); len(sends) != 1 || sends[0].Shard != 1 || sends[0].Previous != 0 {
		t.Errorf("sends %v", sends)
	}
	o.Answered("b", 1, 1, o.Current().Number, replica.Taken)
	if !o.Done() {
		t.Errorf("not done, waits for %v", o.Waiting())
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	prepare := replica.Record{Number: 5, Kind: replica.Prepare, TxID: 9, Shards: 0b11}
	write := replica.Record{Number: 5, Kind: replica.Write, Shards: 0b11}
	pending := func(r replica.Record) replica.Copy {
		return complete(1, replica.Position{Last: r.Number, Committed: 2, CommittedTx: 8, Pending: r})
	}
	before := complete(1, replica.Position{Last: 3, Committed: 2, CommittedTx: 8})
	after := complete(1, replica.Position{Last: 6, Committed: 5, CommittedTx: 9})
	cases := map[string]struct {
		found    []replica.Copy
		steps    []replica.Step
		prepared uint64
		tx       int64
	}{
		"PrepareEverywhereStays":       {[]replica.Copy{pending(prepare), pending(prepare)}, []replica.Step{replica.Leave, replica.Leave}, 5, 8},
		"PrepareInPartGoes":            {[]replica.Copy{pending(prepare), before}, []replica.Step{replica.Forget, replica.Leave}, 0, 8},
		"CommitInPartGoesOn":           {[]replica.Copy{pending(prepare), after}, []replica.Step{replica.Apply, replica.Leave}, 0, 9},
		"WriteEverywhereIsCommitted":   {[]replica.Copy{pending(write), pending(write)}, []replica.Step{replica.Apply, replica.Apply}, 0, 8},
		"WriteInPartGoes":              {[]replica.Copy{before, pending(write)}, []replica.Step{replica.Leave, replica.Forget}, 0, 8},
		"WriteBeforeANewerIsCommitted": {[]replica.Copy{complete(1, replica.Position{Last: 8, Committed: 7, CommittedTx: 9}), pending(write)}, []replica.Step{replica.Leave, replica.Apply}, 0, 9},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := replica.Resolve(c.found)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.steps, d.Steps); diff != "" || d.Prepared.Number != c.prepared || d.At[0].CommittedTx != c.tx {
				t.Errorf("got %+v\n%s", d, diff)
			}
		})
	}
	if _, err := replica.Resolve([]replica.Copy{{}}); err == nil {
		t.Error("an incomplete copy made a state")
	}
}
