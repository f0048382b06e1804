// SPDX-License-Identifier: Apache-2.0

// This file maps the values of storm.scheduler to what this package can do.

package scheduler

import (
	"fmt"
	"strings"
)

// Kind is a scheduling strategy.
type Kind int

const (
	// Default frees slots that hold too few or too many executors, then spreads.
	Default Kind = iota
	// Even only spreads; it never moves a live executor.
	Even
)

// kindNames are the class names users write as storm.scheduler, and what
// each one is here.
var kindNames = []struct {
	class string
	kind  Kind
}{
	{"org.apache.storm.scheduler.DefaultScheduler", Default},
	{"org.apache.storm.scheduler.EvenScheduler", Even},
}

// ParseKind reads the value of storm.scheduler, a Java class name; empty means
// the default scheduler. A name that is not known here is an error that lists the known ones.
func ParseKind(name string) (Kind, error) {
	if name == "" {
		return Default, nil
	}
	known := make([]string, 0, len(kindNames))
	for _, k := range kindNames {
		if k.class == name {
			return k.kind, nil
		}
		known = append(known, k.class)
	}
	return Default, fmt.Errorf("storm.scheduler: %q is not supported; known are %s", name, strings.Join(known, ", "))
}

// String gives the Java class name that stands for the kind.
func (k Kind) String() string {
	for _, n := range kindNames {
		if n.kind == k {
			return n.class
		}
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}
