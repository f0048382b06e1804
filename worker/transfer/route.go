// SPDX-License-Identifier: Apache-2.0

package transfer

// This file holds where the tuples of one stream go.

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/worker/grouping"
)

// Consumer is a component that takes a stream.
type Consumer struct {
	Component string
	Grouping  *storm.Grouping
	Tasks     []int32
}

// Route is where one executor's tuples of one stream go.
type Route struct {
	fixed   []int32 // they always go there
	choices []grouping.Grouping
	direct  []int32 // tasks that take what is sent to them directly
	regular []int32 // tasks that do not
}

// Errors of components that take a stream for what it is not. The texts say as much as Storm's.
var (
	errDirect  = errors.New("regular emit on a stream that a component takes with a direct grouping")
	errRegular = errors.New("direct emit to a task whose component takes the stream with another grouping")
)

// NewRoute makes the route for the consumers of a stream. c is filled but for the tasks.
func NewRoute(consumers []Consumer, c grouping.Context) (*Route, error) {
	r := &Route{}
	for _, to := range consumers {
		c.Tasks = to.Tasks
		g, err := grouping.New(to.Grouping, c)
		switch {
		case err != nil:
			return nil, fmt.Errorf("grouping of %s: %w", to.Component, err)
		case grouping.IsDirect(g):
			r.direct = append(r.direct, to.Tasks...)
			continue
		case len(to.Tasks) <= 1 || to.Grouping.All != nil:
			r.fixed = append(r.fixed, to.Tasks...)
		default:
			r.choices = append(r.choices, g)
		}
		r.regular = append(r.regular, to.Tasks...)
	}
	return r, nil
}

// Choose appends the tasks for a tuple.
func (r *Route) Choose(values []any, into []int32) ([]int32, error) {
	if r.direct != nil {
		return nil, errDirect
	}
	into = append(into, r.fixed...)
	for _, g := range r.choices {
		into = g.Choose(values, into)
	}
	return into, nil
}

// Direct says whether a task takes what is sent to it directly. If its component does not take the stream at all it does not, which is no error.
func (r *Route) Direct(task int32) (bool, error) {
	if slices.Contains(r.regular, task) {
		return false, errRegular
	}
	return slices.Contains(r.direct, task), nil
}

// Empty says whether nobody takes the stream.
func (r *Route) Empty() bool { return len(r.regular)+len(r.direct) == 0 }

// Refresh tells the choices about load and places.
func (r *Route) Refresh(load grouping.Load, places *grouping.Places) {
	for _, g := range r.choices {
		if g, ok := g.(grouping.Refresher); ok {
			g.Refresh(load, places)
		}
	}
}

// Refreshes says whether load and places matter to it.
func (r *Route) Refreshes() bool {
	return slices.ContainsFunc(r.choices, func(g grouping.Grouping) bool {
		_, ok := g.(grouping.Refresher)
		return ok
	})
}
