// SPDX-License-Identifier: Apache-2.0

package multilang

import (
	"context"
	"io"
	"testing"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/multilang/codec"
)

// fuzzChild reads bytes as what a child says to a bolt and to a spout: whatever they are, they are carried out or refused.
func fuzzChild(f *testing.F, format codec.Format) {
	f.Helper()
	f.Fuzz(func(t *testing.T, output []byte, stray bool) {
		for _, spout := range []bool{false, true} {
			events := make(chan *Batch, len(output)+2)
			r := &runner{}
			cfg := Config{Settings: Settings{Format: format, LogStray: stray, MaxMessage: 1 << 16}}
			var c *child
			var bolt *Bolt
			if spout {
				c = NewSpout(cfg, streams(), r, events, zap.NewNop()).child
			} else {
				bolt = NewBolt(cfg, streams(), r, events, zap.NewNop())
				c = bolt.child
				for range 3 { // refs are 1<<24 and the next two
					bolt.Deliver((&bed{source: source()}).tuple("x"))
				}
			}
			exited := make(chan struct{})
			close(exited)
			c.read(context.Background(), &once{output}, exited)
			for len(events) > 0 {
				if err := (<-events).Apply(); err != nil {
					t.Fatalf("no end was told: %v", err)
				}
			}
			if bolt != nil && len(r.acked)+len(r.failed)+len(bolt.Outstanding()) != 3 {
				t.Fatalf("acked %d, failed %d of three tuples, and the rest is not outstanding", len(r.acked), len(r.failed))
			}
		}
	})
}

// once is a stream that ends.
type once struct{ left []byte }

func (o *once) Read(p []byte) (int, error) {
	if len(o.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, o.left)
	o.left = o.left[n:]
	return n, nil
}

func FuzzChildJSON(f *testing.F) {
	for _, seed := range []string{
		`{"pid":1}` + "\nend\n" + `{"command":"emit","tuple":["a"],"anchors":["16777216","16777217"]}` + "\nend\n" + `{"command":"ack","id":"16777216"}` + "\nend\n",
		`{"command":"emit","tuple":["` + "\xff" + `"],"anchors":["16777217"],"id":5}` + "\nend\n" + `{"command":"fail","id":16777217}` + "\nend\n",
		`{"command":"log","msg":"pystorm.serializers.serializer - Failed to send message: {'command': 'emit', 'tuple': [b'x'], 'anchors': ['16777218'], 'id': 'x'}` + `\nTraceback\nE: x","level":4}` + "\nend\n",
		`stray {"command":"sync"}` + "\nend\n" + `{"command":"metrics","name":"n","params":{}}` + "\nend\n" + `{"command":"error","msg":null}` + "\nend",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	fuzzChild(f, codec.JSON)
}

func FuzzChildMsgpack(f *testing.F) {
	for _, seed := range []string{
		"\x81\xa3pid\x01\x83\xa7command\xa4emit\xa5tuple\x91\xa1a\xa7anchors\x91\xa816777216\x82\xa7command\xa3ack\xa2id\xa816777216",
		"hello\n\x81\xa7command\xa4sync\x83\xa7command\xa4emit\xa5tuple\x91\xa1\xff\xa2id\xc4\x01\x00",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	fuzzChild(f, codec.Msgpack)
}
