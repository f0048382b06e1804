// SPDX-License-Identifier: Apache-2.0

// This file plays cases.

package statetest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/gust-stream/gust/stateapi"
)

// Restart is how a server goes and comes back.
type Restart int

// The ways of a server to go.
const (
	Kill   Restart = iota // SIGKILL
	Stop                  // SIGTERM
	Retire                // its arena is lost with it
)

// Bed is what cases are played on: a client and a server that can be started again.
type Bed interface {
	// Open opens a state, which the test closes.
	Open(d stateapi.Definition) (stateapi.State, error)
	// Restart ends the server and starts it again; it does not wait for it.
	Restart(how Restart) error
}

// Run plays all cases, each as a subtest.
func Run(t *testing.T, bed Bed) {
	t.Helper()
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%02d %s", c.Number, c.Name), func(t *testing.T) { Play(t, bed, c) })
	}
}

// Play plays one case.
func Play(t *testing.T, bed Bed, c Case) {
	t.Helper()
	p := &player{bed: bed, topology: fmt.Sprintf("case-%d-%s", c.Number, rand.Text()), open: map[string]stateapi.State{}}
	defer func() {
		for _, s := range p.open {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	}()
	for i, s := range c.Steps {
		if s.By == "" {
			s.By = "a"
		}
		want, known := kinds()[s.Error]
		if !known {
			t.Fatalf("step %d: unknown error %q", i+1, s.Error)
		}
		err := p.step(s)
		var wrong *mismatch
		switch {
		case errors.As(err, &wrong):
			t.Errorf("step %d, %s by %s: %v", i+1, s.Do, s.By, err)
		case !errors.Is(err, want) || want == nil && err != nil:
			t.Fatalf("step %d, %s by %s: error %v, want %v", i+1, s.Do, s.By, err, want)
		}
	}
}

func kinds() map[string]error {
	return map[string]error{
		"": nil, "fenced": stateapi.ErrFenced, "unknownPrepare": stateapi.ErrUnknownPrepare, "encoder": stateapi.ErrEncoder,
		"tasks": stateapi.ErrTasks, "tooLarge": stateapi.ErrTooLarge,
	}
}

// mismatch is an answer that is not the wanted one.
type mismatch struct{ what string }

func (m *mismatch) Error() string { return m.what }

func differs(format string, args ...any) error { return &mismatch{fmt.Sprintf(format, args...)} }

type player struct {
	bed      Bed
	topology string
	open     map[string]stateapi.State
	buf      []byte
}

func (p *player) step(s Step) error {
	switch s.Do {
	case "open":
		return p.opening(s)
	case "kill":
		return p.bed.Restart(Kill)
	case "stop":
		return p.bed.Restart(Stop)
	case "retire":
		return p.bed.Restart(Retire)
	}
	state := p.open[s.By]
	if state == nil {
		return errors.New("nothing is open")
	}
	switch s.Do {
	case "close":
		delete(p.open, s.By)
		return state.Close()
	case "put":
		return state.Put(s.Key, s.Value)
	case "delete":
		return state.Delete(s.Key)
	case "get":
		return p.get(state, s)
	case "prepare":
		return state.Prepare(s.TxID)
	case "commit":
		return state.Commit(s.TxID)
	case "commitNow":
		return state.CommitNow()
	case "rollback":
		return state.Rollback()
	case "all", "count":
		return iterate(state, s)
	case "fill", "wipe", "holds", "lacks":
		return p.many(state, s)
	}
	return fmt.Errorf("unknown step %q", s.Do)
}

func (p *player) opening(s Step) error {
	d := stateapi.Definition{
		Name:  stateapi.Name{Topology: p.topology, Owner: "alice", Component: "count", Task: 4},
		Tasks: 4, Shards: stateapi.DefaultShards, Encoder: "bytes",
	}
	if s.Topology != "" {
		d.Topology += "-" + s.Topology
	}
	if s.Owner != "" {
		d.Owner = s.Owner
	}
	if s.Component != "" {
		d.Component = s.Component
	}
	if s.Task != 0 {
		d.Task = s.Task
	}
	if s.Tasks != 0 {
		d.Tasks = s.Tasks
	}
	if s.Encoder != "" {
		d.Encoder = s.Encoder
	}
	state, err := p.bed.Open(d)
	if err == nil {
		p.open[s.By] = state
	}
	return err
}

func (p *player) get(state stateapi.State, s Step) error {
	var want *Bytes
	if err := json.Unmarshal(s.Want, &want); err != nil {
		return err
	}
	return p.check(state, s.Key, want)
}

// check gets a key behind something that must stay.
func (p *player) check(state stateapi.State, key []byte, want *Bytes) error {
	p.buf = append(p.buf[:0], "before "...)
	got, ok, err := state.Get(p.buf, key)
	if err != nil {
		return err
	}
	p.buf = got
	value, whole := bytes.CutPrefix(got, []byte("before "))
	switch {
	case !whole:
		return differs("get of %s changed what was before it", short(key))
	case ok != (want != nil):
		return differs("get of %s found %t, want %t", short(key), ok, want != nil)
	case want == nil && len(value) > 0:
		return differs("get of %s found nothing and appended %s", short(key), short(value))
	case want != nil && !bytes.Equal(value, *want):
		return differs("get of %s: %s, want %s", short(key), short(value), short(*want))
	}
	return nil
}

// short is enough of a key or value to know it.
func short(b []byte) string {
	if len(b) > 40 {
		return fmt.Sprintf("%q... (%d bytes)", b[:40], len(b))
	}
	return strconv.Quote(string(b))
}

func iterate(state stateapi.State, s Step) error {
	got := map[string]string{}
	var err error
	for key, value := range state.All(&err) {
		if _, twice := got[string(key)]; twice {
			return differs("key %s came twice", short(key))
		}
		got[string(key)] = string(value)
	}
	if err != nil {
		return err
	}
	if s.Do == "count" {
		var want int
		if err := json.Unmarshal(s.Want, &want); err != nil {
			return err
		}
		if len(got) != want {
			return differs("%d keys, want %d", len(got), want)
		}
		return nil
	}
	var want [][2]Bytes
	if err := json.Unmarshal(s.Want, &want); err != nil {
		return err
	}
	for _, pair := range want {
		value, ok := got[string(pair[0])]
		if !ok || value != string(pair[1]) {
			return differs("key %s has %s (there: %t), want %s", short(pair[0]), short([]byte(value)), ok, short(pair[1]))
		}
		delete(got, string(pair[0]))
	}
	for key, value := range got {
		return differs("key %s with %s is too much", short([]byte(key)), short([]byte(value)))
	}
	return nil
}

func (p *player) many(state stateapi.State, s Step) error {
	var key, value Bytes
	for n := s.From; n < s.To; n++ {
		key = strconv.AppendInt(key[:0], int64(n), 10)
		value = append(append(value[:0], s.Value...), key...)
		var err error
		switch s.Do {
		case "fill":
			err = state.Put(key, value)
		case "wipe":
			err = state.Delete(key)
		case "holds":
			err = p.check(state, key, &value)
		case "lacks":
			err = p.check(state, key, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
