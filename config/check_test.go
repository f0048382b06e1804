// SPDX-License-Identifier: Apache-2.0

// Tests of the checks against Storm's recorded answers. compat-tests/config records them and asks the real Storm.

package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidateRecorded(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "validate-"+TableVersion+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		var row struct {
			Topology    json.RawMessage
			Daemon      string
			Class, Text string
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		var have error
		if row.Topology != nil {
			conf, err := ParseJSON(row.Topology)
			if err != nil {
				t.Fatal(err)
			}
			have = ValidateTopology(conf)
		} else {
			conf, err := ParseYAML([]byte(row.Daemon))
			if err != nil {
				t.Fatal(err)
			}
			have = Validate(conf)
		}
		compareRecorded(t, string(line), row.Class, row.Text, have)
	}
	if n < 150 {
		t.Errorf("only %d confs are recorded", n)
	}
}

func compareRecorded(t *testing.T, conf, class, text string, have error) {
	t.Helper()
	fault, ok := errors.AsType[*FaultError](have)
	switch {
	case class == "":
		if have != nil {
			t.Errorf("%shave %v", conf, have)
		}
	case !ok:
		t.Errorf("%shave %v", conf, have)
	case fault.Internal != (class != "java.lang.IllegalArgumentException"):
		t.Errorf("%shave internal %v", conf, fault.Internal)
	case strings.HasPrefix(class, "java.lang.ClassCast"), strings.HasPrefix(class, "java.lang.NullPointer"): // the JVM's own text
	case have.Error() != text:
		t.Errorf("%shave %s", conf, have)
	}
}

func TestValidateJoinsAllFaults(t *testing.T) {
	t.Parallel()
	err := Validate(Conf{
		SupervisorSlotsPorts: int64(1), NimbusThriftPort: "x", GustWorkerTwinEnabled: "yes", GustSupervisorLogMaxFiles: int64(0),
		TopologySchedulerStrategy: int64(1),
	})
	want := strings.Join([]string{
		"Field SUPERVISOR_SLOTS_PORTS must be of type interface java.lang.Iterable. Object: 1 actual type: class java.lang.Integer",
		"Field VALIDATE_TOPOLOGY_SCHEDULER_STRATEGY must be of type class java.lang.String. Object: 1 actual type: class java.lang.Integer",
		"Field NIMBUS_THRIFT_PORT must be an Integer within type range.",
		"Field gust.worker.twin.enabled must be of type class java.lang.Boolean. Object: yes actual type: class java.lang.String",
		"Field gust.supervisor.log.max.files must be a Positive Number",
	}, "\n")
	if err == nil {
		t.Fatal("no fault found")
	}
	if d := cmp.Diff(want, err.Error()); d != "" {
		t.Error(d)
	}
}

func TestValidateHidesSecrets(t *testing.T) {
	t.Parallel()
	for _, v := range []any{int64(4711), []any{"4711"}, map[string]any{"x": "4711"}} {
		conf := Conf{StormZookeeperAuthPayload: v, StormZookeeperTopologyAuthPayload: v, UiHttpsKeystorePassword: v}
		for _, err := range []error{Validate(conf), ValidateTopology(conf)} {
			if err == nil || strings.Contains(err.Error(), "4711") {
				t.Errorf("have %v", err)
			}
		}
	}
}

func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	conf, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Validate(conf), ValidateTopology(conf), ValidateClasses(conf)); err != nil {
		t.Error(err)
	}
	if w := UnknownKeys(conf); len(w) != 0 {
		t.Error(w)
	}
}

func TestUnknownKeysLeavesStormHomeAlone(t *testing.T) {
	t.Parallel()
	if w := UnknownKeys(Conf{StormHome: "/opt/storm", "storm.hom": "/opt/storm"}); len(w) != 1 {
		t.Errorf("have %q, want one about storm.hom", w)
	}
}

// TestEveryCheckIsKnown makes sure that a table of a newer Storm cannot bring a check that nothing here runs.
func TestEveryCheckIsKnown(t *testing.T) {
	t.Parallel()
	for i := range keyTable {
		s := &keyTable[i]
		for _, v := range []any{
			nil, "x", int64(1), true, 1.5, []any{"x"}, []any{map[string]any{}}, map[string]any{"x": "y"}, map[string]any{"x": map[string]any{}},
		} {
			for _, c := range s.checks {
				r := refuser{key: s.key}
				if r.check(c, s.field, v); r.fault != nil && strings.Contains(r.fault.Text, "does not know") {
					t.Errorf("%s: %s", s.key, r.fault.Text)
				}
			}
		}
	}
}

func TestGeneratedFilesAreFresh(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "run", "./gen", "-check", "-root", "..").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestValidateClasses(t *testing.T) {
	t.Parallel()
	const strategy = "org.apache.storm.scheduler.resource.strategies.scheduling.ConstraintSolverStrategy"
	for name, c := range map[string]struct {
		conf    Conf
		refused bool
	}{
		"Empty":    {Conf{}, false},
		"Null":     {Conf{StormScheduler: nil, TopologySchedulerStrategy: nil}, false},
		"Known":    {Conf{StormScheduler: "org.apache.storm.scheduler.IsolationScheduler", TopologySchedulerStrategy: strategy}, false},
		"Old":      {Conf{StormScheduler: "backtype.storm.scheduler.EvenScheduler"}, false},
		"Unknown":  {Conf{StormScheduler: "org.example.Evil"}, true},
		"Strategy": {Conf{TopologySchedulerStrategy: "org.example.Evil"}, true},
		"Type":     {Conf{TopologySchedulerStrategy: int64(1)}, true},
		"Short":    {Conf{StormScheduler: "IsolationScheduler"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := ValidateClasses(c.conf)
			if (err != nil) != c.refused {
				t.Errorf("refused: %v", err)
			}
			for key := range c.conf {
				if err != nil && !strings.Contains(err.Error(), "conf key "+key+": unknown class") {
					t.Errorf("the error does not name the key: %v", err)
				}
			}
		})
	}
}
