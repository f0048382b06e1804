// SPDX-License-Identifier: Apache-2.0

// This file says what a difference is and lists all.

package diffs

import (
	"maps"
	"strings"
)

// Names of scenarios that are not one topology.
const (
	// EveryTopology means each scenario that runs a topology.
	EveryTopology = "*"
	// Refusals is the scenario of what must be refused.
	Refusals = "bad-submits"
)

// What stands for a value that cannot be written down.
const (
	// Absent is a value that one side does not have at all.
	Absent = "<absent>"
	// Some are one or more keys that a pattern matched.
	Some = "<some>"
)

// Diff is one place of one scenario's record where gust answers otherwise.
type Diff struct {
	// Number never changes and is never used again.
	Number int
	// Name is the test's name.
	Name string
	// Sentence tells users what is different and why.
	Sentence string
	// Gap is set where gust falls short and is meant to follow.
	Gap bool
	// Scenario is the record's name, or EveryTopology.
	Scenario string
	// At are the places in the record, each a path of JSON keys.
	At []Place
}

// Place is a value in a record and what each side has there, as JSON values.
// A last key that ends in * means all keys that begin so; there a side has Some
// or Absent.
type Place struct {
	Path  []string
	Stock any
	Gust  any
}

// All lists every known difference in the order of its number.
func All() []Diff {
	return []Diff{
		diff01(), diff02(), diff03(), diff04(), diff05(), diff06(), diff07(),
	}
}

// Of lists the differences of a scenario.
func Of(scenario string) []Diff {
	var found []Diff
	for _, diff := range All() {
		if diff.Scenario == scenario || diff.Scenario == EveryTopology && scenario != Refusals {
			found = append(found, diff)
		}
	}
	return found
}

// Take removes the value at a path from decoded JSON and gives it, Absent when
// there is none.
func Take(record any, path []string) any {
	object, ok := record.(map[string]any)
	if !ok || len(path) == 0 {
		return Absent
	}
	if prefix, all := strings.CutSuffix(path[0], "*"); all && len(path) == 1 {
		before := len(object)
		maps.DeleteFunc(object, func(key string, _ any) bool { return strings.HasPrefix(key, prefix) })
		if len(object) < before {
			return Some
		}
		return Absent
	}
	value, ok := object[path[0]]
	if !ok {
		return Absent
	}
	if len(path) > 1 {
		return Take(value, path[1:])
	}
	delete(object, path[0])
	return value
}

// refusal is a case of the scenario of refusals.
func refusal(name string, stock, gust any) Place {
	return Place{Path: []string{"outcome", "cases", name}, Stock: stock, Gust: gust}
}

// invalid is an InvalidTopologyException as a record has it.
func invalid(text string) any {
	return map[string]any{"class": "InvalidTopologyException", "message": text}
}

// internal is how a client sees any other exception of submitTopology.
func internal() any {
	return map[string]any{"class": "TApplicationException", "message": "Internal error processing submitTopology", "type": 6.0}
}
