// SPDX-License-Identifier: Apache-2.0

package nimbus

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// stormLimits are the timeouts of a plain conf.
func stormLimits() limits {
	return limits{detection: 5 * time.Second, task: 30 * time.Second, launch: 120 * time.Second, recovery: 600 * time.Second}
}

// oneWorker is a topology with one executor on sup-1.
func oneWorker(placed time.Time) *topologyState {
	e := storm.ExecutorID{1, 1}
	return &topologyState{
		id: "wc-1-1", base: &storm.StormBase{Name: "wc"}, code: &code{conf: config.Conf{}, user: storm.NewStormTopology()},
		executors: []storm.ExecutorID{e}, components: map[storm.ExecutorID]string{e: "spout"},
		assignment: &storm.Assignment{
			NodeHost: map[string]string{"sup-1": "host"}, ExecutorNodePort: map[storm.ExecutorID]*storm.NodeInfo{e: {Node: "sup-1", Port: []int64{6700}}},
		},
		placed: map[storm.ExecutorID]time.Time{e: placed},
	}
}

// story is what happened, in seconds before now; a negative number means never.
type story struct {
	leads, placed, worker, supervisor float64
	absent                            bool
	workerTimeout                     int64
}

func (s story) judge() judgement {
	now := time.Now()
	ago := func(secs float64) time.Time { return now.Add(-time.Duration(secs * float64(time.Second))) }
	l := newLiveness(ago(s.leads))
	if s.supervisor >= 0 {
		l.supervisorBeat(&storm.SupervisorWorkerHeartbeats{SupervisorID: "sup-1"}, ago(s.supervisor))
	}
	if s.worker >= 0 {
		l.workerBeat(&storm.SupervisorWorkerHeartbeat{StormID: "wc-1-1", TimeSecs: 7, Executors: []*storm.ExecutorInfo{{TaskStart: 1, TaskEnd: 1}}}, ago(s.worker))
	}
	t := oneWorker(ago(s.placed))
	if s.workerTimeout > 0 {
		t.code.conf[config.TopologyWorkerTimeoutSecs] = s.workerTimeout
	}
	return judge([]*topologyState{t}, func(string) bool { return !s.absent }, l, stormLimits(), now)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		story
		lost, suspect, dead bool
	}{
		"AllWell":                  {story: story{leads: 1000, placed: 900, worker: 1, supervisor: 1}},
		"JustPlaced":               {story: story{leads: 1000, placed: 1, worker: -1, supervisor: 1}},
		"NeverBeatInItsGrace":      {story: story{leads: 1000, placed: 119, worker: -1, supervisor: 1}},
		"NeverBeatPastItsGrace":    {story: story{leads: 1000, placed: 121, worker: -1, supervisor: 1}, dead: true},
		"HangsForShort":            {story: story{leads: 1000, placed: 900, worker: 29, supervisor: 1}},
		"HangsForLong":             {story: story{leads: 1000, placed: 900, worker: 30, supervisor: 1}, dead: true},
		"HangsWithinItsOwnTimeout": {story: story{leads: 1000, placed: 900, worker: 59, supervisor: 1, workerTimeout: 60}},
		"OwnTimeoutIsNoShorter":    {story: story{leads: 1000, placed: 900, worker: 29, supervisor: 1, workerTimeout: 5}},
		"BothSilent":               {story: story{leads: 1000, placed: 900, worker: 5, supervisor: 5}, lost: true, dead: true},
		"BothSilentAfterPlacement": {story: story{leads: 1000, placed: 6, worker: -1, supervisor: 5}, lost: true, dead: true},
		"BothNearlySilent":         {story: story{leads: 1000, placed: 900, worker: 4.5, supervisor: 4.5}, suspect: true},
		"SupervisorDiedAlone":      {story: story{leads: 1000, placed: 900, worker: 1, supervisor: 50, absent: true}},
		"EntryGone":                {story: story{leads: 1000, placed: 900, worker: 6, supervisor: 6, absent: true}, lost: true, dead: true},
		"NobodySpokeYet":           {story: story{leads: 10, placed: 900, worker: -1, supervisor: -1}},
		"RegisteredButMute":        {story: story{leads: 599, placed: 900, worker: -1, supervisor: -1}},
		"RegisteredButMuteForLong": {story: story{leads: 600, placed: 900, worker: -1, supervisor: -1}, dead: true},
		"AbsentAfterStart":         {story: story{leads: 29, placed: 900, worker: -1, supervisor: -1, absent: true}},
		"AbsentForLongAfterStart":  {story: story{leads: 31, placed: 900, worker: -1, supervisor: -1, absent: true}, lost: true, dead: true},
		"ReportedWithoutItsWorker": {story: story{leads: 10, placed: 900, worker: -1, supervisor: 1}},
		"ReportedWithoutForLong":   {story: story{leads: 31, placed: 900, worker: -1, supervisor: 1}, dead: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := tt.judge()
			have := []bool{j.lost["sup-1"], j.suspects["sup-1"], j.isDead("wc-1-1", storm.ExecutorID{1, 1})}
			if diff := cmp.Diff([]bool{tt.lost, tt.suspect, tt.dead}, have); diff != "" {
				t.Errorf("lost, suspect, dead (-want +have):\n%s", diff)
			}
		})
	}
}

// A heartbeat counts only when the worker's own time stamp changed: a supervisor repeats what the file of a hanging worker says.
func TestRepeatedBeatDoesNotCount(t *testing.T) {
	t.Parallel()
	start := time.Now()
	l := newLiveness(start)
	id := storm.ExecutorID{1, 2}
	beat := func(stamp int32, at time.Duration) {
		l.workerBeat(&storm.SupervisorWorkerHeartbeat{StormID: "t", TimeSecs: stamp, Executors: []*storm.ExecutorInfo{{TaskStart: 1, TaskEnd: 2}, nil}}, start.Add(at))
	}
	beat(1, time.Second)
	beat(1, 9*time.Second)
	if got := l.executorSilence("t", id, start.Add(10*time.Second)); got != 9*time.Second {
		t.Errorf("silence is %v after a repeated beat", got)
	}
	beat(0, 9*time.Second) // the worker's clock was set back: still a change
	if got := l.executorSilence("t", id, start.Add(10*time.Second)); got != time.Second {
		t.Errorf("silence is %v after a changed beat", got)
	}
	l.forgive(start.Add(10 * time.Second))
	if got := l.executorSilence("t", id, start.Add(12*time.Second)); got != 2*time.Second {
		t.Errorf("silence is %v after it was forgiven", got)
	}
}

func TestPlacedBefore(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a := storm.NewAssignment()
	old, future, none := storm.ExecutorID{1, 1}, storm.ExecutorID{2, 2}, storm.ExecutorID{3, 3}
	for _, e := range []storm.ExecutorID{old, future, none} {
		a.ExecutorNodePort[e] = &storm.NodeInfo{Node: "n", Port: []int64{1}}
	}
	a.ExecutorStartTimeSecs = map[storm.ExecutorID]int64{old: now.Unix() - 100, future: now.Unix() + 1000} // the clock was set back since
	placed := placedBefore(a, now)
	if age := now.Sub(placed[old]); age != 100*time.Second {
		t.Errorf("an executor of 100 s ago was placed %v ago", age)
	}
	if age := now.Sub(placed[future]); age != 0 {
		t.Errorf("an executor of the future was placed %v ago", age)
	}
	if age := now.Sub(placed[none]); age < time.Hour {
		t.Errorf("an executor without a time was placed %v ago", age)
	}
}
