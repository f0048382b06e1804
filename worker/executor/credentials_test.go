// SPDX-License-Identifier: Apache-2.0

package executor_test

// This file tests what components hear of credentials.

import (
	"slices"
	"testing"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/worker/local"
)

// listeningSpout and listeningBolt write down their credentials.
type listeningSpout struct {
	spout
	set func(map[string]string)
}

func (s *listeningSpout) SetCredentials(c map[string]string) { s.set(c) }

type listeningBolt struct {
	bolt
	set func(map[string]string)
}

func (b *listeningBolt) SetCredentials(c map[string]string) { b.set(c) }

// TestCredentials renews credentials while the bolt is busy all the time.
func TestCredentials(t *testing.T) {
	t.Parallel()
	var heard book
	top := component.NewTopology("credentials")
	top.Spout("spout", func() component.Spout {
		n := 0
		return &listeningSpout{
			spout{
				next: func(out *component.SpoutOutput) error { n++; return out.Emit(nil, n) },
				open: func(*component.Context) error { heard.add("spout opens"); return nil },
			},
			func(c map[string]string) { heard.add("spout %s", c["token"]) },
		}
	}).Output("n")
	top.Bolt("bolt", func() component.Bolt {
		return &listeningBolt{
			bolt{
				prepare: func(*component.Context, *component.Output) error { heard.add("bolt prepares"); return nil },
				execute: func(*component.Tuple, *component.Output) error { return nil },
			},
			func(c map[string]string) {
				heard.add("bolt %s", c["token"])
				c["token"] = "its own"
			},
		}
	}).Tasks(2).From("spout").Shuffle()
	b := build(t, top, local.Options{})
	b.SetCredentials(map[string]string{"token": "a"})
	b.SetActive(true)
	b.run()
	b.eventually("both are there", func() bool { return b.Counts()["bolt"].Executed > 1000 })
	b.SetCredentials(map[string]string{"token": "b"})
	b.eventually("all hear of it", func() bool { return len(heard.all()) == 9 })
	b.stop()
	var spouts, bolts []string
	for _, line := range heard.all() {
		if line[0] == 's' {
			spouts = append(spouts, line)
		} else {
			bolts = append(bolts, line)
		}
	}
	if !slices.Equal(spouts, []string{"spout a", "spout opens", "spout b"}) ||
		!slices.Equal(bolts, []string{"bolt a", "bolt prepares", "bolt a", "bolt prepares", "bolt b", "bolt b"}) {
		t.Errorf("spouts %q, bolts %q", spouts, bolts)
	}
}
