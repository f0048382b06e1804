// SPDX-License-Identifier: Apache-2.0

// This file keeps supervisors that fail again and again out of scheduling for a while.

package scheduler

import (
	"cmp"
	"maps"
	"slices"
)

// BlacklistLimits says when a supervisor is kept out and for how long.
type BlacklistLimits struct {
	// Faults is how many faults within Window put a supervisor on the list;
	// 0 switches the blacklist off (blacklist.scheduler.tolerance.count).
	Faults int
	// Window is how long a fault counts, in seconds (blacklist.scheduler.tolerance.time.secs).
	Window int64
	// Resume is how long a supervisor stays on the list, in seconds (blacklist.scheduler.resume.time.secs).
	Resume int64
	// BadSlots makes a dead worker a fault of its supervisor
	// (blacklist.scheduler.assume.supervisor.bad.based.on.bad.slot).
	BadSlots bool
	// Merge is the time in seconds within which faults of one supervisor are one
	// fault, so that several workers that die together, found dead by several
	// passes, do not add up (nimbus.monitor.freq.secs, the length of Storm's pass).
	Merge int64
}

// DefaultBlacklistLimits are Storm's.
func DefaultBlacklistLimits() BlacklistLimits {
	return BlacklistLimits{Faults: 3, Window: 300, Resume: 1800, BadSlots: true, Merge: 10}
}

// Blacklist is what is remembered about supervisors between passes, by id. It
// is a value: a pass makes a new one and leaves the old one as it was.
type Blacklist map[string]Record

// Record is what is remembered about one supervisor.
type Record struct {
	// Seen is when the supervisor was last present, in seconds.
	Seen int64
	// Absent says that it was missing in the last pass.
	Absent bool
	// Dead are its ports that the last pass found dead, ascending.
	Dead []int32
	// Faults are the times of its faults within the window, ascending.
	Faults []int64
	// Until is when it leaves the list, in seconds; 0 if it is not on it.
	Until int64
}

// Blacklisted gives the ids of the supervisors that are on the list, sorted.
func (b Blacklist) Blacklisted() []string {
	var out []string
	for id, r := range b {
		if r.Until > 0 {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// observe makes the next list from what the pass sees: who is gone, whose slots
// died. When all are gone at once, that is the network's or the cluster state's
// fault and not held against them.
func (b Blacklist) observe(now int64, l BlacklistLimits, p *pass) Blacklist {
	if l.Faults <= 0 {
		return nil
	}
	next := make(Blacklist, len(p.nodes)+len(b))
	for i := range p.nodes {
		n := &p.nodes[i]
		r := b[n.id]
		r.Seen, r.Absent = now, false
		dead := p.deadPorts(n)
		if l.BadSlots && hasNew(dead, r.Dead) {
			r.Faults = withFault(r.Faults, now, l.Merge)
		}
		r.Dead = dead
		next[n.id] = r.settle(now, l)
	}
	for id, r := range b {
		if _, present := p.index[id]; present {
			continue
		}
		if !r.Absent && len(p.nodes) > 0 {
			r.Faults = withFault(r.Faults, now, l.Merge)
		}
		r.Absent, r.Dead = true, nil
		r = r.settle(now, l)
		if r.Until > 0 || now-r.Seen <= l.Window {
			next[id] = r
		}
	}
	return next
}

// settle forgets old faults and puts the supervisor on or off the list.
func (r Record) settle(now int64, l BlacklistLimits) Record {
	if r.Until > 0 && now >= r.Until {
		r.Until, r.Faults = 0, nil
	}
	for len(r.Faults) > 0 && now-r.Faults[0] > l.Window {
		r.Faults = r.Faults[1:]
	}
	if r.Until == 0 && len(r.Faults) >= l.Faults {
		r.Until = now + l.Resume
	}
	return r
}

// withFault adds a fault, unless it belongs to the last one.
func withFault(faults []int64, now, merge int64) []int64 {
	if n := len(faults); n > 0 && now-faults[n-1] < merge {
		return faults
	}
	return append(slices.Clone(faults), now)
}

// release takes supervisors off the list while the topologies lack slots: the
// one that was put on it first goes first. Its faults are forgotten.
func (b Blacklist) release(p *pass) (Blacklist, []string) {
	barred := b.Blacklisted()
	barred = slices.DeleteFunc(barred, func(id string) bool {
		n, present := p.index[id]
		return !present || p.nodes[n].free == 0
	})
	if len(barred) == 0 {
		return b, nil
	}
	lacking := -p.free
	for _, id := range barred {
		lacking += int(p.nodes[p.index[id]].free)
	}
	for i := range p.topologies {
		lacking += p.topologies[i].lacking()
	}
	slices.SortStableFunc(barred, func(x, y string) int { return cmp.Compare(b[x].Until, b[y].Until) })
	var released []string
	next := b
	for _, id := range barred {
		if lacking <= 0 {
			break
		}
		if released == nil {
			next = maps.Clone(b)
		}
		r := next[id]
		r.Until, r.Faults = 0, nil
		next[id] = r
		released = append(released, id)
		lacking -= int(p.nodes[p.index[id]].free)
	}
	slices.Sort(released)
	return next, released
}

// deadPorts are the ports of a node that this pass found dead, ascending.
func (p *pass) deadPorts(n *node) []int32 {
	var out []int32
	for s := n.first; s < n.end; s++ {
		if p.slots[s].dead {
			out = append(out, p.slots[s].Port)
		}
	}
	return out
}

// hasNew says whether ports has one that before has not.
func hasNew(ports, before []int32) bool {
	return slices.ContainsFunc(ports, func(p int32) bool { return !slices.Contains(before, p) })
}
