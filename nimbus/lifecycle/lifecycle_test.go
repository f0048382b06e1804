// SPDX-License-Identifier: Apache-2.0

// This file runs the transcripts: a topology, and the events that happen to it.

package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/thrift/storm"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		t.Helper()
		var base *storm.StormBase
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			if d.Cmd == "topology" {
				base = newBase(t, d)
				return show(base)
			}
			return apply(t, d, &base)
		})
	})
}

// newBase reads "topology status=ACTIVE workers=3 executors=(a=1,b=2)".
func newBase(t *testing.T, d *datadriven.TestData) *storm.StormBase {
	t.Helper()
	base := &storm.StormBase{Name: "t", Status: storm.TopologyStatus_ACTIVE, NumWorkers: 3, ComponentExecutors: map[string]int32{"a": 1, "b": 2}}
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "status":
			status, err := storm.TopologyStatusFromString(arg.Vals[0])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			base.Status = status
		default:
			d.Fatalf(t, "unknown argument %s", arg.Key)
		}
	}
	return base
}

// apply raises the event that the command names, prints the actions, and keeps
// the last base that they write.
func apply(t *testing.T, d *datadriven.TestData, base **storm.StormBase) string {
	t.Helper()
	r := Request{MessageTimeoutSecs: 30, Event: eventOf(t, d)}
	if r.Event == Rebalance {
		r.Rebalance = &storm.RebalanceOptions{}
	}
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "wait":
			wait := number(t, d, arg.Vals[0])
			if r.Event == Rebalance {
				r.Rebalance.WaitSecs = &wait
			} else {
				r.WaitSecs = &wait
			}
		case "workers":
			n := number(t, d, arg.Vals[0])
			r.Rebalance.NumWorkers = &n
		case "executors":
			r.Rebalance.NumExecutors = map[string]int32{}
			for _, v := range arg.Vals {
				name, n, _ := strings.Cut(v, ":")
				r.Rebalance.NumExecutors[name] = number(t, d, n)
			}
		case "conf":
			r.Rebalance.TopologyConfOverrides = &arg.Vals[0]
		default:
			d.Fatalf(t, "unknown argument %s", arg.Key)
		}
	}
	before := show(*base)
	actions, err := Next("t-1-1700000000", *base, r)
	if show(*base) != before {
		d.Fatalf(t, "the base that was handed in has changed: %s", show(*base))
	}
	if err != nil {
		if _, ok := errors.AsType[*NoTransitionError](err); !ok {
			d.Fatalf(t, "not a NoTransitionError: %v", err)
		}
		return "error: " + err.Error()
	}
	var out strings.Builder
	for _, a := range actions {
		fmt.Fprint(&out, a.Do)
		switch a.Do {
		case WriteBase:
			*base = a.Base
			fmt.Fprintf(&out, " %s", show(a.Base))
		case Schedule:
			fmt.Fprintf(&out, " %v after %d s", a.Event, a.After)
		case ApplyOverrides:
			fmt.Fprintf(&out, " %s", a.Options.GetTopologyConfOverrides())
		default: // the others carry nothing
		}
		out.WriteByte('\n')
	}
	if out.Len() == 0 {
		return "nothing"
	}
	return out.String()
}

func eventOf(t *testing.T, d *datadriven.TestData) Event {
	t.Helper()
	for e := Activate; e <= GainLeadership; e++ {
		if strings.EqualFold(e.String(), d.Cmd) {
			return e
		}
	}
	d.Fatalf(t, "unknown command")
	return 0
}

func number(t *testing.T, d *datadriven.TestData, s string) int32 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return int32(n)
}

func show(b *storm.StormBase) string {
	s := fmt.Sprintf("%v workers=%d", b.Status, b.NumWorkers)
	var names []string
	for name, n := range b.ComponentExecutors {
		names = append(names, fmt.Sprintf("%s:%d", name, n))
	}
	slices.Sort(names)
	s += " executors=" + strings.Join(names, ",")
	if b.PrevStatus != nil {
		s += fmt.Sprintf(" former=%v", *b.PrevStatus)
	}
	if o := b.TopologyActionOptions; o != nil && o.KillOptions != nil {
		s += fmt.Sprintf(" kill_wait=%d", o.KillOptions.GetWaitSecs())
	}
	if o := b.TopologyActionOptions; o != nil && o.RebalanceOptions != nil {
		s += fmt.Sprintf(" rebalance_wait=%d", o.RebalanceOptions.GetWaitSecs())
	}
	return s
}

// TestEveryCell compares the whole table with Storm's: what each status allows.
func TestEveryCell(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"ACTIVE":      "ACTIVATE INACTIVATE REBALANCE KILL",
		"INACTIVE":    "ACTIVATE INACTIVATE REBALANCE KILL",
		"REBALANCING": "DO_REBALANCE KILL GAIN_LEADERSHIP",
		"KILLED":      "KILL REMOVE GAIN_LEADERSHIP",
	}
	got := map[string]string{}
	for _, status := range []storm.TopologyStatus{
		storm.TopologyStatus_ACTIVE, storm.TopologyStatus_INACTIVE, storm.TopologyStatus_REBALANCING, storm.TopologyStatus_KILLED,
	} {
		var allowed []string
		for e := Activate; e <= GainLeadership; e++ {
			if _, err := Next("id", &storm.StormBase{Status: status}, Request{Event: e}); err == nil {
				allowed = append(allowed, e.String())
			}
		}
		got[status.String()] = strings.Join(allowed, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
