// SPDX-License-Identifier: Apache-2.0

// This file holds events, actions and the transition function.

package lifecycle

import (
	"fmt"
	"maps"

	"github.com/gust-stream/gust/thrift/storm"
)

// Event is what happens to a topology.
type Event int

// The events, as Storm names them.
const (
	Activate Event = iota + 1
	Inactivate
	Rebalance
	DoRebalance
	Kill
	Remove
	GainLeadership
)

// String gives Storm's name of the event; it is part of an error text.
func (e Event) String() string {
	switch e {
	case Activate:
		return "ACTIVATE"
	case Inactivate:
		return "INACTIVATE"
	case Rebalance:
		return "REBALANCE"
	case DoRebalance:
		return "DO_REBALANCE"
	case Kill:
		return "KILL"
	case Remove:
		return "REMOVE"
	case GainLeadership:
		return "GAIN_LEADERSHIP"
	default:
		return fmt.Sprintf("Event(%d)", int(e))
	}
}

// Request is an event with what came with it.
type Request struct {
	Event Event
	// WaitSecs is the delay that a Kill asks for, in seconds; nil for MessageTimeoutSecs.
	WaitSecs *int32
	// Rebalance are the options of a Rebalance, checked by the caller; nil means none.
	Rebalance *storm.RebalanceOptions
	// MessageTimeoutSecs is the topology's topology.message.timeout.secs: the
	// delay of a Kill or Rebalance that asks for none.
	MessageTimeoutSecs int32
}

// Do is a kind of action.
type Do int

const (
	// WriteBase stores Action.Base as the topology's StormBase.
	WriteBase Do = iota + 1
	// Schedule raises Action.Event for this topology after Action.After seconds (0 or less: at once).
	Schedule
	// ApplyOverrides rewrites the code and conf blobs with the resource and conf
	// overrides of Action.Options. Comes only when there are any.
	ApplyOverrides
	// Replace computes the topology's executors anew and schedules it with its own slots free.
	Replace
	// RemoveTopology deletes the topology's assignment, credentials, log config,
	// profiler requests and StormBase from the cluster state, tells its
	// supervisors, and forgets what is known of it.
	RemoveTopology
)

// String names the kind, for logs and transcripts.
func (d Do) String() string {
	switch d {
	case WriteBase:
		return "write_base"
	case Schedule:
		return "schedule"
	case ApplyOverrides:
		return "apply_overrides"
	case Replace:
		return "replace"
	case RemoveTopology:
		return "remove_topology"
	default:
		return fmt.Sprintf("Do(%d)", int(d))
	}
}

// Action is one thing to do. Only the fields that its kind names are set.
type Action struct {
	Do      Do
	Base    *storm.StormBase
	Event   Event
	After   int32
	Options *storm.RebalanceOptions
}

// NoTransitionError is an event that the topology's status does not allow.
// Storm's clients get it as an internal error; for Schedule'd events and
// GainLeadership it means that there is nothing to do.
type NoTransitionError struct {
	Event  Event
	Status storm.TopologyStatus
	ID     string
}

// Error is Storm's text.
func (e *NoTransitionError) Error() string {
	return fmt.Sprintf("No transition for event: %v, status: %v storm-id: %s", e.Event, e.Status, e.ID)
}

// Next says what r does to the topology id, whose StormBase is base. An empty
// list means that nothing has to be done. base is not changed, and the bases in
// the actions share nothing with it that a later step changes. The only error
// is a *NoTransitionError.
func Next(id string, base *storm.StormBase, r Request) ([]Action, error) {
	running := base.Status == storm.TopologyStatus_ACTIVE || base.Status == storm.TopologyStatus_INACTIVE
	rebalancing := base.Status == storm.TopologyStatus_REBALANCING
	killed := base.Status == storm.TopologyStatus_KILLED
	switch {
	case running && r.Event == Activate:
		return turn(base, storm.TopologyStatus_ACTIVE), nil
	case running && r.Event == Inactivate:
		return turn(base, storm.TopologyStatus_INACTIVE), nil
	case running && r.Event == Rebalance:
		return rebalance(base, r), nil
	case rebalancing && r.Event == DoRebalance:
		return doRebalance(base), nil
	case rebalancing && r.Event == GainLeadership:
		return []Action{{Do: Schedule, Event: DoRebalance, After: rebalanceWait(base, r)}}, nil
	case (running || rebalancing || killed) && r.Event == Kill:
		return kill(base, r), nil
	case killed && r.Event == Remove:
		return []Action{{Do: RemoveTopology}}, nil
	case killed && r.Event == GainLeadership:
		return []Action{{Do: Schedule, Event: Remove, After: killWait(base, r)}}, nil
	}
	return nil, &NoTransitionError{Event: r.Event, Status: base.Status, ID: id}
}

// turn makes a topology active or inactive. Its former status is forgotten, as
// with every step but a rebalance.
func turn(base *storm.StormBase, to storm.TopologyStatus) []Action {
	if base.Status == to {
		return nil
	}
	next := *base
	next.Status, next.PrevStatus = to, nil
	return []Action{{Do: WriteBase, Base: &next}}
}

// kill may come again while the topology waits for its removal: then it is
// removed when the shorter of the two waits is over.
func kill(base *storm.StormBase, r Request) []Action {
	wait := r.MessageTimeoutSecs
	if r.WaitSecs != nil {
		wait = *r.WaitSecs
	}
	next := *base
	next.Status, next.PrevStatus = storm.TopologyStatus_KILLED, nil
	next.TopologyActionOptions = &storm.TopologyActionOptions{KillOptions: &storm.KillOptions{WaitSecs: &wait}}
	return []Action{{Do: WriteBase, Base: &next}, {Do: Schedule, Event: Remove, After: wait}}
}

func rebalance(base *storm.StormBase, r Request) []Action {
	options := storm.RebalanceOptions{}
	if r.Rebalance != nil {
		options = *r.Rebalance
	}
	wait := r.MessageTimeoutSecs
	if options.WaitSecs != nil {
		wait = *options.WaitSecs
	}
	options.WaitSecs = &wait
	options.NumExecutors = maps.Clone(options.NumExecutors)
	if options.NumExecutors == nil {
		options.NumExecutors = map[string]int32{}
	}
	next := *base
	former := base.Status
	next.Status, next.PrevStatus = storm.TopologyStatus_REBALANCING, &former
	next.TopologyActionOptions = &storm.TopologyActionOptions{RebalanceOptions: &options}
	return []Action{{Do: WriteBase, Base: &next}, {Do: Schedule, Event: DoRebalance, After: wait}}
}

// doRebalance applies what rebalance has stored. The options stay in the base
// afterwards, as Storm leaves them there; only its status says that they are done.
func doRebalance(base *storm.StormBase) []Action {
	applied := *base
	var options *storm.RebalanceOptions
	if base.TopologyActionOptions != nil {
		options = base.TopologyActionOptions.RebalanceOptions
	}
	if options != nil {
		applied.ComponentExecutors = maps.Clone(base.ComponentExecutors)
		if applied.ComponentExecutors == nil {
			applied.ComponentExecutors = make(map[string]int32, len(options.NumExecutors))
		}
		maps.Copy(applied.ComponentExecutors, options.NumExecutors)
		if options.NumWorkers != nil && *options.NumWorkers > 0 {
			applied.NumWorkers = *options.NumWorkers
		}
	}
	done := applied
	done.Status, done.PrevStatus = storm.TopologyStatus_ACTIVE, nil
	if base.PrevStatus != nil {
		done.Status = *base.PrevStatus
	}
	actions := []Action{{Do: WriteBase, Base: &applied}}
	if options != nil && (len(options.TopologyResourcesOverrides) > 0 || options.GetTopologyConfOverrides() != "") {
		actions = append(actions, Action{Do: ApplyOverrides, Options: options})
	}
	return append(actions, Action{Do: Replace}, Action{Do: WriteBase, Base: &done})
}

// killWait is how long a killed topology waits, for a Nimbus that takes over.
func killWait(base *storm.StormBase, r Request) int32 {
	if o := base.TopologyActionOptions; o != nil && o.KillOptions != nil && o.KillOptions.WaitSecs != nil {
		return *o.KillOptions.WaitSecs
	}
	return r.MessageTimeoutSecs
}

// rebalanceWait is killWait for a topology that is being rebalanced.
func rebalanceWait(base *storm.StormBase, r Request) int32 {
	if o := base.TopologyActionOptions; o != nil && o.RebalanceOptions != nil && o.RebalanceOptions.WaitSecs != nil {
		return *o.RebalanceOptions.WaitSecs
	}
	return r.MessageTimeoutSecs
}
