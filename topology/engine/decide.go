// SPDX-License-Identifier: Apache-2.0

package engine

// This file makes the decision.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
)

// component is one component while it is decided on.
type component struct {
	id      string
	object  *storm.ComponentObject
	common  *storm.ComponentCommon
	conf    config.Conf // the topology's with the component's own on top
	own     config.Conf
	spout   bool
	state   bool
	setting setting
	choice  Choice
}

// decision is a Decide at work.
type decision struct {
	in    Input
	all   []*component // user's and system's, sorted by id
	byID  map[string]*component
	wants setting
}

// Decide says where each component runs. The error is a *storm.InvalidTopologyException: Go is asked for where it is impossible, or a conf
// makes no sense.
func Decide(in Input) (Plan, error) {
	wants, err := settingOf(in.Conf)
	if err != nil {
		return Plan{}, err
	}
	d := &decision{in: in, wants: wants, byID: map[string]*component{}}
	if err := d.gather(); err != nil {
		return Plan{}, err
	}
	for _, c := range d.all {
		if !system(c.id) {
			c.choice = d.choose(c)
		}
	}
	d.settle()
	if err := d.refuse(); err != nil {
		return Plan{}, err
	}
	plan := Plan{Components: make(map[string]Choice, len(d.all))}
	for _, c := range d.all {
		plan.Components[c.id] = c.choice
	}
	return plan, nil
}

// system says whether an id is one of the system's.
func system(id string) bool { return strings.HasPrefix(id, "__") }

func (d *decision) gather() error {
	for id, s := range d.in.Topology.Spouts {
		d.all = append(d.all, &component{id: id, object: s.SpoutObject, common: s.Common, spout: true})
	}
	for id, b := range d.in.Topology.Bolts {
		d.all = append(d.all, &component{id: id, object: b.BoltObject, common: b.Common})
	}
	for id, s := range d.in.Topology.StateSpouts {
		d.all = append(d.all, &component{id: id, object: s.StateSpoutObject, common: s.Common, state: true})
	}
	slices.SortFunc(d.all, func(a, b *component) int { return strings.Compare(a.id, b.id) })
	for _, c := range d.all {
		if c.common == nil {
			c.common = &storm.ComponentCommon{}
		}
		d.byID[c.id] = c
		c.own = config.Conf{}
		if text := c.common.JSONConf; text != nil {
			own, err := config.ParseJSON([]byte(*text))
			if err != nil {
				return invalid("Component: [%s] has a configuration that cannot be read: %v", c.id, err)
			}
			c.own = own
		}
		c.conf = maps.Clone(d.in.Conf)
		if c.conf == nil {
			c.conf = config.Conf{}
		}
		maps.Copy(c.conf, c.own)
		var err error
		if c.setting, err = settingOf(c.conf); err != nil {
			return fmt.Errorf("component %s: %w", c.id, err)
		}
	}
	return nil
}

// choose looks at a component of the user by itself.
func (d *decision) choose(c *component) Choice {
	choice := d.kindOf(c)
	if choice.Engine == Java {
		return choice
	}
	java := func(format string, args ...any) Choice {
		return Choice{Engine: Java, Kind: choice.Kind, Child: choice.Child, Reason: fmt.Sprintf(format, args...)}
	}
	if c.setting == setting(Java) {
		return java("%s is java", config.GustTopologyWorkerEngine)
	}
	if why := d.barred(c); why != "" {
		return java("%s", why)
	}
	return choice
}

// kindOf says what a component is and, where it is nothing but Java, that it runs there.
func (d *decision) kindOf(c *component) Choice {
	if c.state {
		return Choice{Engine: Java, Kind: Class, Reason: "a state spout"}
	}
	child, known, err := readChild(c.object)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), ErrNoChild.Error()+": ")
		if !errors.Is(err, ErrNoChild) {
			reason = err.Error()
		}
		return Choice{Engine: Java, Kind: Class, Reason: reason}
	}
	choice := Choice{Engine: Go, Kind: Shell, Child: &child}
	switch binary := c.conf.String(config.GustTopologyGoBinary, ""); {
	case binary != "" && slices.Equal(child.Command, LinkedCommand(binary)):
		choice.Kind, choice.Reason = Linked, "linked into the program resources/"+binary
	case child.Class == "", len(known.own) == 0:
		choice.Reason = "shell component: " + strings.Join(child.Command, " ")
	default:
		if why := judge(d.in.Jar, known); why != "" {
			return Choice{Engine: Java, Kind: Shell, Child: &child, Reason: fmt.Sprintf("Java class %s %s", child.Class, why)}
		}
		choice.Reason = fmt.Sprintf("Java class %s only names its command: %s", child.Class, strings.Join(child.Command, " "))
	}
	return choice
}

// settle places the system's components and moves to Java what would meet Java over a wire that Go does not speak. Each
// round can only move components to Java, so it ends.
func (d *decision) settle() {
	for {
		d.placeSystem()
		if !d.retreat() {
			return
		}
	}
}

func (d *decision) retreat() (moved bool) {
	for _, c := range d.all {
		if system(c.id) || c.choice.Engine != Go || c.own.String(config.GustTopologyWorkerEngine, "") == string(Go) {
			continue
		}
		why := d.oddWire(c)
		if why == "" {
			continue
		}
		if peer := d.javaPeer(c); peer != "" {
			c.choice.Engine = Java
			c.choice.Reason = fmt.Sprintf("exchanges tuples with %s, which runs on Java, and %s", peer, why)
			moved = true
		}
	}
	return moved
}

// javaPeer is a component on Java that c sends to or hears from, "" if there is none.
func (d *decision) javaPeer(c *component) string {
	var peers []string
	for in := range c.common.Inputs {
		peers = append(peers, in.ComponentId)
	}
	for _, other := range d.all {
		for in := range other.common.Inputs {
			if in.ComponentId == c.id {
				peers = append(peers, other.id)
			}
		}
	}
	slices.Sort(peers)
	for _, id := range peers {
		if peer := d.byID[id]; peer != nil && peer.choice.Engine == Java {
			return id
		}
	}
	return ""
}

// placeSystem places the components that the system added.
func (d *decision) placeSystem() {
	spoutsOnGo, userOnGo, anyGo := true, true, false
	for _, c := range d.all {
		if system(c.id) {
			continue
		}
		onGo := c.choice.Engine == Go
		anyGo = anyGo || onGo
		userOnGo = userOnGo && onGo
		spoutsOnGo = spoutsOnGo && (onGo || !c.spout)
	}
	place := func(onGo bool, goReason, javaReason string) Choice {
		if onGo {
			return Choice{Engine: Go, Kind: System, Reason: goReason}
		}
		return Choice{Engine: Java, Kind: System, Reason: javaReason}
	}
	for _, c := range d.all {
		switch {
		case !system(c.id):
		case c.id == topology.SystemID:
			c.choice = Choice{Engine: Both, Kind: System, Reason: "part of every worker"}
		case c.id == topology.AckerID:
			c.choice = place(spoutsOnGo && anyGo, "all spouts run on Go", "a spout runs on Java")
		case c.id == topology.EventLoggerID:
			if why := customLoggers(d.in.Conf); why != "" {
				c.choice = place(false, "", why)
				continue
			}
			c.choice = place(userOnGo && anyGo, "all components run on Go", "a component runs on Java")
		case strings.HasPrefix(c.id, topology.MetricsPrefix):
			class, _, _ := strings.Cut(strings.TrimPrefix(c.id, topology.MetricsPrefix), "#")
			if class != loggingConsumer {
				c.choice = place(false, "", "Java class "+class)
				continue
			}
			c.choice = place(userOnGo && anyGo, "all components run on Go", "a component runs on Java")
		default:
			c.choice = place(false, "", "a component of the system that Go workers do not know")
		}
	}
}

// refuse is the error where Go was asked for and is impossible. Where the system's components run follows from the user's, so
// these are named only if all of those can.
func (d *decision) refuse() error {
	faults := d.faults(func(c *component) bool { return !system(c.id) && c.setting == setting(Go) })
	if len(faults) == 0 {
		faults = d.faults(func(c *component) bool { return system(c.id) && d.wants == setting(Go) })
	}
	if len(faults) == 0 {
		return nil
	}
	more := ""
	if n := len(faults) - 5; n > 0 {
		faults, more = faults[:5], fmt.Sprintf("; and %d more", n)
	}
	return invalid("%s is go, but not all of it can run on Go workers: %s%s", config.GustTopologyWorkerEngine, strings.Join(faults, "; "), more)
}

// faults are the components that should run on Go and cannot.
func (d *decision) faults(wanted func(*component) bool) []string {
	var out []string
	for _, c := range d.all {
		if wanted(c) && c.choice.Engine == Java {
			out = append(out, fmt.Sprintf("component %s cannot: %s", c.id, c.choice.Reason))
		}
	}
	return out
}
