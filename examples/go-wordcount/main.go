// SPDX-License-Identifier: Apache-2.0

// Command go-wordcount is a topology in Go: a spout of sentences, a bolt that splits them, and a bolt that counts words.
package main

import (
	"strings"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/program"
)

func main() { program.Main(topology()) }

func topology() *component.Topology {
	t := component.NewTopology("go-wordcount").Workers(1).MaxSpoutPending(1000)
	t.Spout("sentences", newSentences).Output("sentence")
	t.Bolt("split", newSplit).Parallelism(2).From("sentences").Shuffle().Output("word")
	t.Bolt("count", newCount).Parallelism(2).From("split").Fields("word").Output("word", "count")
	return t
}

// sentences repeats a few sentences, and those that fail before all others.
type sentences struct {
	next   int
	failed []int
}

func newSentences() component.Spout { return &sentences{} }

func (s *sentences) Next(out *component.SpoutOutput) error {
	id := s.next
	if len(s.failed) > 0 {
		id, s.failed = s.failed[0], s.failed[1:]
	} else {
		s.next++
	}
	text := []string{"the cow jumped over the moon", "an apple a day keeps the doctor away", "four score and seven years ago"}
	return out.Emit(id, text[id%len(text)])
}

func (s *sentences) Ack(any) {}

// Fail takes the id as it came back: linked it is what Emit was given, out of a pipe it is JSON's number.
func (s *sentences) Fail(id any) {
	switch n := id.(type) {
	case int:
		s.failed = append(s.failed, n)
	case int64:
		s.failed = append(s.failed, int(n))
	}
}

func newSplit() component.Bolt {
	return component.Basic(func(t *component.Tuple, out *component.BasicOutput) error {
		sentence, err := component.String(t, "sentence")
		if err != nil {
			return err
		}
		for word := range strings.FieldsSeq(sentence) {
			if err := out.Emit(word); err != nil {
				return err
			}
		}
		return nil
	})
}

// newCount makes a bolt with a count of its own.
func newCount() component.Bolt {
	counts := map[string]int64{}
	return component.Basic(func(t *component.Tuple, out *component.BasicOutput) error {
		word, err := component.String(t, "word")
		if err != nil {
			return err
		}
		counts[word]++
		return out.Emit(word, counts[word])
	})
}
