// SPDX-License-Identifier: Apache-2.0

package statetest

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/gust-stream/gust/stateapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) { Run(t, NewMemory()) }

// TestCasesCanFail breaks the contract in one way after the other: some case must see each.
func TestCasesCanFail(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string]func(stateapi.State) stateapi.State{
		"Commit":    func(s stateapi.State) stateapi.State { return noCommit{s} },
		"Rollback":  func(s stateapi.State) stateapi.State { return noRollback{s} },
		"Delete":    func(s stateapi.State) stateapi.State { return noDelete{s} },
		"Prepare":   func(s stateapi.State) stateapi.State { return noPrepare{s} },
		"CommitNow": func(s stateapi.State) stateapi.State { return noCommitNow{s} },
	} {
		t.Run(name, func(t *testing.T) {
			seen := 0
			for _, c := range cases {
				p := &player{bed: breaker{NewMemory(), broken}, topology: "t", open: map[string]stateapi.State{}}
				for _, s := range c.Steps {
					if s.By == "" {
						s.By = "a"
					}
					if err := p.step(s); !errors.Is(err, kinds()[s.Error]) {
						seen++
						break
					}
				}
			}
			if seen < 3 {
				t.Errorf("only %d cases saw it", seen)
			}
		})
	}
}

type breaker struct {
	*Memory
	broken func(stateapi.State) stateapi.State
}

func (b breaker) Open(d stateapi.Definition) (stateapi.State, error) {
	s, err := b.Memory.Open(d)
	if err != nil {
		return nil, err
	}
	return b.broken(s), nil
}

type noCommit struct{ stateapi.State }

func (noCommit) Commit(int64) error { return nil }

type noRollback struct{ stateapi.State }

func (noRollback) Rollback() error { return nil }

type noDelete struct{ stateapi.State }

func (noDelete) Delete([]byte) error { return nil }

type noPrepare struct{ stateapi.State }

func (noPrepare) Prepare(int64) error { return nil }

type noCommitNow struct{ stateapi.State }

func (noCommitNow) CommitNow() error { return nil }
