// SPDX-License-Identifier: Apache-2.0

// This file maps the values of storm.scheduler to what this package can do.

package scheduler

import (
	"fmt"
	"slices"
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

// classes are the class names that users write as storm.scheduler, by Kind.
func classes() []string {
	return []string{
		Default: "org.apache.storm.scheduler.DefaultScheduler",
		Even:    "org.apache.storm.scheduler.EvenScheduler",
	}
}

// ParseKind reads the value of storm.scheduler, a Java class name; empty means
// the default scheduler. A name that is not known here is an error that lists the known ones.
func ParseKind(name string) (Kind, error) {
	if name == "" {
		return Default, nil
	}
	if k := slices.Index(classes(), name); k >= 0 {
		return Kind(k), nil
	}
	return Default, fmt.Errorf("storm.scheduler: %q is not supported; known are %s", name, strings.Join(classes(), ", "))
}

// String gives the Java class name that stands for the kind.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(classes()) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return classes()[k]
}
