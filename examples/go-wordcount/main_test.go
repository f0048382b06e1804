// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/multilang/component/componenttest"
	"github.com/gust-stream/gust/program"
)

func TestSplitAnchorsAndAcks(t *testing.T) {
	t.Parallel()
	split := componenttest.NewBolt(t, newSplit(), componenttest.Options{Output: []string{"word"}})
	sent := split.Input("sentences", "sentence").Send("the cow")
	if diff := cmp.Diff([][]any{{"the"}, {"cow"}}, sent.Values()); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	if !sent.Acked || sent.Emitted[0].Anchors[0] != sent.Tuple {
		t.Error("not acked, or not anchored")
	}
}

func TestCountGoesOn(t *testing.T) {
	t.Parallel()
	count := componenttest.NewBolt(t, newCount(), componenttest.Options{Output: []string{"word", "count"}})
	words := count.Input("split", "word")
	words.Send("cow")
	words.Send("moon")
	if diff := cmp.Diff([][]any{{"cow", int64(2)}}, words.Send("cow").Values()); diff != "" {
		t.Errorf("count (-want +got):\n%s", diff)
	}
	if sent := words.Send(7); !sent.Failed || len(sent.Errors) != 1 {
		t.Errorf("a number for a word: %+v", sent)
	}
}

func TestFailedSentenceComesAgain(t *testing.T) {
	t.Parallel()
	// Through a pipe, where the id comes back as another type than it left.
	spout := componenttest.NewSpout(t, newSentences(), componenttest.Options{Output: []string{"sentence"}, Pipe: true})
	first := spout.Next().Emitted[0]
	spout.Next()
	spout.Fail(first.ID)
	if diff := cmp.Diff(first, spout.Next().Emitted[0]); diff != "" {
		t.Errorf("sent again (-want +got):\n%s", diff)
	}
}

func TestWholeTopology(t *testing.T) {
	t.Parallel()
	sum, err := program.Run(t.Context(), topology(), 2*time.Second, nil)
	if err != nil || len(sum.Errors) > 0 {
		t.Fatal(err, sum.Errors)
	}
	in, split, count := sum.Components["sentences"], sum.Components["split"], sum.Components["count"]
	if in.Acked == 0 || in.Failed > 0 || count.Executed != split.Emitted || count.Acked != count.Executed {
		t.Errorf("sentences %+v, split %+v, count %+v", in, split, count)
	}
}
