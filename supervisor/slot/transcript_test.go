// SPDX-License-Identifier: Apache-2.0

package slot

// This file plays the transcripts in testdata: each command is one event, its answer the actions, the state and the
// next deadline.

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/gust-stream/gust/thrift/storm"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		t.Helper()
		m := New(DefaultConfig())
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			if d.Cmd == "new" {
				m = New(DefaultConfig())
				return "state " + m.State().String() + "\n"
			}
			return show(m, m.Step(timeArg(t, d), eventOf(t, d)))
		})
	})
}

func timeArg(t *testing.T, d *datadriven.TestData) time.Duration {
	t.Helper()
	return durationArg(t, d, "at", 0)
}

func durationArg(t *testing.T, d *datadriven.TestData, name string, or time.Duration) time.Duration {
	t.Helper()
	text := stringArg(d, name, "")
	if text == "" {
		return or
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		d.Fatalf(t, "%s: %v", name, err)
	}
	return v
}

func stringArg(d *datadriven.TestData, name, or string) string {
	for _, arg := range d.CmdArgs {
		if arg.Key == name && len(arg.Vals) > 0 {
			return arg.Vals[0]
		}
	}
	return or
}

func intArg(t *testing.T, d *datadriven.TestData, name string) int {
	t.Helper()
	v, err := strconv.Atoi(stringArg(d, name, ""))
	if err != nil {
		d.Fatalf(t, "%s: %v", name, err)
	}
	return v
}

func eventOf(t *testing.T, d *datadriven.TestData) Event {
	t.Helper()
	why := stringArg(d, "why", "")
	limits := Limits{
		FirstHeartbeat: durationArg(t, d, "first", 120*time.Second),
		Heartbeat:      durationArg(t, d, "beat", 30*time.Second),
		Twin:           d.HasArg("twin"),
	}
	switch d.Cmd {
	case "assigned":
		return Assigned{Assignment: assignmentOf(t, d)}
	case "withdrawn":
		return Assigned{}
	case "adopted":
		return Adopted{Assignment: assignmentOf(t, d), Beating: d.HasArg("beating"), Limits: limits}
	case "localized":
		return Localized{Attempt: intArg(t, d, "attempt"), Limits: limits}
	case "localization-failed":
		return LocalizationFailed{Attempt: intArg(t, d, "attempt"), Reason: why}
	case "started":
		return Started{Seq: intArg(t, d, "seq")}
	case "launch-failed":
		return LaunchFailed{Seq: intArg(t, d, "seq"), Reason: why}
	case "prepared":
		return Prepared{Seq: intArg(t, d, "seq")}
	case "twin-ended":
		return TwinEnded{Seq: intArg(t, d, "seq"), Reason: why}
	case "heartbeat":
		return Heartbeat{Seq: intArg(t, d, "seq")}
	case "exited":
		return Exited{Seq: intArg(t, d, "seq"), Reason: why}
	case "gone":
		return Gone{Seq: intArg(t, d, "seq")}
	case "kill-failed":
		return KillFailed{Seq: intArg(t, d, "seq"), Reason: why}
	case "restart":
		return Restart{Seq: intArg(t, d, "seq"), Reason: why}
	case "blobs-changed":
		return BlobsChanged{TopologyID: stringArg(d, "topology", "")}
	case "tick":
		return Tick{}
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return nil
}

// assignmentOf reads topology=A executors=(1-3,4-4) heap=768.
func assignmentOf(t *testing.T, d *datadriven.TestData) *storm.LocalAssignment {
	t.Helper()
	a := &storm.LocalAssignment{TopologyID: stringArg(d, "topology", "A")}
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "executors":
			for _, text := range arg.Vals {
				e := &storm.ExecutorInfo{}
				if _, err := fmt.Sscanf(text, "%d-%d", &e.TaskStart, &e.TaskEnd); err != nil {
					d.Fatalf(t, "executors: %v", err)
				}
				a.Executors = append(a.Executors, e)
			}
		case "heap":
			heap, err := strconv.ParseFloat(arg.Vals[0], 64)
			if err != nil {
				d.Fatalf(t, "heap: %v", err)
			}
			a.Resources = &storm.WorkerResources{MemOnHeap: &heap}
		case "owner":
			a.Owner = &arg.Vals[0]
		}
	}
	return a
}

func show(m *Machine, actions []Action) string {
	var b strings.Builder
	for _, a := range actions {
		b.WriteString(showAction(a) + "\n")
	}
	deadline := "never"
	if at, ok := m.Deadline(); ok {
		deadline = at.String()
	}
	fmt.Fprintf(&b, "state %s, deadline %s\n", m.State(), deadline)
	return b.String()
}

func showAction(a Action) string {
	switch a := a.(type) {
	case Localize:
		return fmt.Sprintf("localize attempt=%d %s", a.Attempt, a.Assignment.TopologyID)
	case Retain:
		return "retain " + a.Assignment.TopologyID
	case Release:
		return "release " + a.TopologyID
	case UpdateBlobs:
		return fmt.Sprintf("update-blobs attempt=%d %s", a.Attempt, a.Assignment.TopologyID)
	case Save:
		return "save " + showAssignment(a.Assignment)
	case Launch:
		twin := ""
		if a.Twin != 0 {
			twin = fmt.Sprintf(" twin=%d", a.Twin)
		}
		return fmt.Sprintf("launch seq=%d%s %s", a.Seq, twin, showAssignment(a.Assignment))
	case Prepare:
		return fmt.Sprintf("prepare seq=%d %s", a.Seq, showAssignment(a.Assignment))
	case Discard:
		return fmt.Sprintf("discard seq=%d", a.Seq)
	case Stop:
		return fmt.Sprintf("stop seq=%d grace=%s", a.Seq, a.Grace)
	case Remove:
		return fmt.Sprintf("remove seq=%d", a.Seq)
	case Note:
		mark := "log"
		if a.Warn {
			mark = "warn"
		}
		return strings.TrimSuffix(fmt.Sprintf("%s %s: %s", mark, a.Text, a.Detail), ": ")
	}
	return fmt.Sprintf("%T", a)
}

func showAssignment(a *storm.LocalAssignment) string {
	if a == nil {
		return "none"
	}
	var b strings.Builder
	b.WriteString(a.TopologyID)
	for _, e := range a.Executors {
		fmt.Fprintf(&b, " %d-%d", e.TaskStart, e.TaskEnd)
	}
	return b.String()
}
