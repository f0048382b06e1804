// SPDX-License-Identifier: Apache-2.0

package groupingtest

// This file holds the question, and gust's answer to it.

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/worker/grouping"
)

// Question is a grouping and what it lives through.
type Question struct {
	// Kind is fields, shuffle, local, all, none or custom; Fields are those of the fields grouping or of the partial key, whose may be null.
	Kind   string   `json:"kind"`
	Fields []string `json:"fields"`
	Out    []string `json:"out"`
	Tasks  []int32  `json:"tasks"`
	Local  []int32  `json:"local"`
	Even   bool     `json:"even"`
	High   float64  `json:"high"`
	Low    float64  `json:"low"`
	Seed   int64    `json:"seed"`
	Here   Place    `json:"here"`
	Places Places   `json:"places"`
	Steps  []Step   `json:"steps"`
}

// Step is a refresh, if there is a load, else the same tuple some times.
type Step struct {
	Load   map[string]float64 `json:"load,omitempty"`
	Places *Places            `json:"places,omitempty"`
	Values []any              `json:"values,omitempty"`
	Times  int                `json:"times,omitempty"`
}

// Place is a node and a port.
type Place [2]any

// Places is where tasks are. Nodes are those whose host is known.
type Places struct {
	Tasks map[string]Place  `json:"tasks"`
	Nodes []string          `json:"nodes"`
	Racks map[string]string `json:"racks"`
}

// Answer is what was chosen for each tuple.
type Answer struct {
	Chosen [][]int32 `json:"chosen"`
	Error  string    `json:"error"`
	// Object is the serialized grouping of a custom one, of Java's.
	Object []byte `json:"object"`
}

// Run gives gust's answer. object is a custom grouping, as Java serializes it.
func (q *Question) Run(object []byte) Answer {
	here, err := q.Here.place()
	if err != nil {
		return Answer{Error: err.Error()}
	}
	at, err := q.Places.places(here)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	g, err := grouping.New(q.spec(object), grouping.Context{
		Fields: q.Out, Tasks: q.Tasks, Local: q.Local, Places: at, Even: q.Even, HigherBound: q.High, LowerBound: q.Low, Seed: q.Seed,
	})
	if err != nil {
		return Answer{Error: err.Error()}
	}
	answer := Answer{Chosen: [][]int32{}}
	for _, step := range q.Steps {
		if step.Load != nil {
			err = step.refresh(g, here)
		} else {
			err = step.emit(g, &answer)
		}
		if err != nil {
			return Answer{Error: err.Error()}
		}
	}
	return answer
}

func (q *Question) spec(object []byte) *storm.Grouping {
	null := &storm.NullStruct{}
	switch q.Kind {
	case "fields":
		return &storm.Grouping{Fields: q.Fields}
	case "shuffle":
		return &storm.Grouping{Shuffle: null}
	case "local":
		return &storm.Grouping{LocalOrShuffle: null}
	case "all":
		return &storm.Grouping{All: null}
	case "none":
		return &storm.Grouping{None: null}
	}
	return &storm.Grouping{CustomSerialized: object}
}

func (s *Step) refresh(g grouping.Grouping, here grouping.Place) error {
	at, err := s.Places.places(here)
	if err != nil {
		return err
	}
	load := grouping.Load{}
	for task, full := range s.Load {
		id, err := strconv.ParseInt(task, 10, 32)
		if err != nil {
			return err
		}
		load[int32(id)] = full
	}
	if r, ok := g.(grouping.Refresher); ok {
		r.Refresh(load, at)
	}
	return nil
}

func (s *Step) emit(g grouping.Grouping, answer *Answer) error {
	values := make([]any, len(s.Values))
	for i, encoded := range s.Values {
		var err error
		if values[i], err = Decode(encoded); err != nil {
			return err
		}
	}
	for range s.Times {
		answer.Chosen = append(answer.Chosen, g.Choose(values, []int32{}))
	}
	return nil
}

func (p Place) place() (grouping.Place, error) {
	node, isText := p[0].(string)
	port, isNumber := p[1].(float64)
	if !isText || !isNumber {
		return grouping.Place{}, fmt.Errorf("no place: %v", p)
	}
	return grouping.Place{Node: node, Port: int32(port)}, nil
}

func (p *Places) places(here grouping.Place) (*grouping.Places, error) {
	out := &grouping.Places{Here: here, Tasks: map[int32]grouping.Place{}, Racks: map[string]string{}}
	for task, where := range p.Tasks {
		id, err := strconv.ParseInt(task, 10, 32)
		if err != nil {
			return nil, err
		}
		if out.Tasks[int32(id)], err = where.place(); err != nil {
			return nil, err
		}
	}
	for _, node := range p.Nodes {
		if rack, known := p.Racks[node]; known {
			out.Racks[node] = rack
		}
	}
	return out, nil
}

// Encode gives the question as a line.
func (q *Question) Encode() ([]byte, error) { return json.Marshal(q) }

// Compare says how gust's answer to a question differs from Storm's, "" if not. Both are in JSON.
func Compare(question, stock []byte) (string, error) {
	var q Question
	if err := json.Unmarshal(question, &q); err != nil {
		return "", fmt.Errorf("decode question: %w", err)
	}
	var theirs Answer
	if err := json.Unmarshal(stock, &theirs); err != nil {
		return "", fmt.Errorf("decode answer %s: %w", stock, err)
	}
	ours := q.Run(theirs.Object)
	if (ours.Error != "") != (theirs.Error != "") {
		return fmt.Sprintf("Storm's error: %q, gust's: %q", theirs.Error, ours.Error), nil
	}
	if ours.Error != "" {
		return "", nil
	}
	if len(ours.Chosen) != len(theirs.Chosen) {
		return fmt.Sprintf("Storm chose %d times, gust %d times", len(theirs.Chosen), len(ours.Chosen)), nil
	}
	for i := range ours.Chosen {
		if fmt.Sprint(ours.Chosen[i]) != fmt.Sprint(theirs.Chosen[i]) {
			return fmt.Sprintf("choice %d: Storm %v, gust %v", i, theirs.Chosen[i], ours.Chosen[i]), nil
		}
	}
	return "", nil
}
