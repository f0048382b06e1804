// SPDX-License-Identifier: Apache-2.0

// This file makes records, stores them as transcripts and compares them.

package compat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/diffs"
	"github.com/gust-stream/gust/compat-tests/harness"
)

// record is all of a scenario that must be the same on stock and on gust.
type record struct {
	// Storm is the version that workers and, on stock, daemons had.
	Storm string `json:"storm"`
	// Outcome is what the topology did.
	Outcome any `json:"outcome"`
	// Components is the system topology as getTopology gives it.
	Components any `json:"components,omitempty"`
	// Workers are the executors of each worker, as COMPONENT[FIRST-LAST] of task ids.
	Workers [][]string `json:"workers,omitempty"`
	// Conf is getTopologyConf, normalized. In a transcript it holds only what
	// differs from base-conf.json; a key that is not there is absent. Null for
	// scenarios that are no topology.
	Conf map[string]any `json:"conf"`
}

// base is the name of the conf that transcripts have in common.
const base = "base-conf"

// absent stands for a key of base-conf.json that a conf does not have; null is a value.
const absent = "<absent>"

// executor is one line of getTopologyInfo as the Java client gives it.
type executor struct {
	Component string `json:"component"`
	First     int    `json:"first"`
	Last      int    `json:"last"`
	Host      string `json:"host"`
	Port      int    `json:"port"`
}

// placement groups executors by worker, without the ports' numbers.
func placement(executors []executor) [][]string {
	slices.SortFunc(executors, func(a, b executor) int { return cmp.Compare(a.First, b.First) })
	byWorker := map[string][]string{}
	var order []string
	for _, each := range executors {
		worker := fmt.Sprint(each.Host, each.Port)
		if byWorker[worker] == nil {
			order = append(order, worker)
		}
		byWorker[worker] = append(byWorker[worker], fmt.Sprintf("%s[%d-%d]", each.Component, each.First, each.Last))
	}
	workers := make([][]string, 0, len(order))
	for _, worker := range order {
		workers = append(workers, byWorker[worker])
	}
	return workers
}

// observe asks a cluster for what it knows of a running topology.
func observe(ctx context.Context, cluster harness.Cluster, client *harness.Client, id string) (record, error) {
	var rec record
	var info struct {
		Version   string                     `json:"version"`
		Status    string                     `json:"status"`
		Executors []executor                 `json:"executors"`
		Errors    map[string]json.RawMessage `json:"errors"`
	}
	if err := client.Get(ctx, &info, "info", id); err != nil {
		return rec, err
	}
	for component, errors := range info.Errors {
		if string(errors) != "[]" {
			return rec, fmt.Errorf("component %s reported %s", component, errors)
		}
	}
	if info.Status != "ACTIVE" {
		return rec, fmt.Errorf("topology %s is %s", id, info.Status)
	}
	if err := client.Get(ctx, &rec.Components, "topology", id); err != nil {
		return rec, err
	}
	if err := client.Get(ctx, &rec.Conf, "conf", id); err != nil {
		return rec, err
	}
	rec.Storm = info.Version
	rec.Workers = placement(info.Executors)
	if err := normalize(rec.Conf, cluster.Settings(), id); err != nil {
		return rec, err
	}
	return rec, nil
}

// normalize replaces what differs from one run to the next by a word that says
// what stood there.
func normalize(conf map[string]any, s harness.Settings, id string) error {
	me, err := user.Current()
	if err != nil {
		return fmt.Errorf("who am I: %w", err)
	}
	for key, value := range conf {
		switch text := value.(type) {
		case string:
			text = strings.ReplaceAll(text, id, "<id>")
			text = strings.ReplaceAll(text, s.Dir, "<dir>")
			if text == me.Username {
				text = "<user>"
			}
			conf[key] = text
		case []any:
			for i, each := range text {
				if each == me.Username {
					text[i] = "<user>"
				}
			}
		case float64:
			for name, port := range map[string]int{
				"nimbus": s.Nimbus, "supervisor": s.Supervisor, "zookeeper": s.ZooKeeper,
			} {
				if text == float64(port) && strings.HasSuffix(key, ".port") {
					conf[key] = "<" + name + " port>"
				}
			}
		}
	}
	if _, ok := conf["supervisor.slots.ports"]; ok {
		conf["supervisor.slots.ports"] = "<slots>"
	}
	return nil
}

// transcripts is where stock's answers of a version lie.
func transcripts() string { return filepath.Join("transcripts", harness.Version) }

// store writes a transcript.
func store(name string, rec record) error {
	if rec.Conf != nil {
		common, err := baseConf()
		if os.IsNotExist(err) || name == scenarios()[0].name {
			common, err = rec.Conf, writeJSON(base, rec.Conf)
		}
		if err != nil {
			return err
		}
		rec.Conf = differing(common, rec.Conf)
	}
	return writeJSON(name, rec)
}

// differing gives the entries of conf that are not in common, and absent for those that only common has.
func differing(common, conf map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range conf {
		if was, ok := common[key]; !ok || !gocmp.Equal(was, value) {
			out[key] = value
		}
	}
	for key := range common {
		if _, ok := conf[key]; !ok {
			out[key] = absent
		}
	}
	return out
}

func writeJSON(name string, value any) error {
	text, err := encode(value)
	if err != nil {
		return fmt.Errorf("write transcript %s: %w", name, err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		return fmt.Errorf("write transcript %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := layout(&out, decoded, ""); err != nil {
		return fmt.Errorf("write transcript %s: %w", name, err)
	}
	out.WriteByte('\n')
	if err := os.MkdirAll(transcripts(), 0o755); err != nil {
		return fmt.Errorf("write transcript %s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(transcripts(), name+".json"), out.Bytes(), 0o644)
}

// width is how long a value may be to stay on one line of a transcript.
const width = 120

// layout writes JSON with sorted keys, on as few lines as a reviewer can read.
func layout(out *bytes.Buffer, value any, indent string) error {
	text, err := encode(value)
	if err != nil {
		return err
	}
	inner := indent + " "
	switch value := value.(type) {
	case map[string]any:
		if len(text) <= width {
			break
		}
		for i, key := range slices.Sorted(maps.Keys(value)) {
			name, err := encode(key)
			if err != nil {
				return err
			}
			out.WriteString(open(i, "{") + inner + string(name) + ": ")
			if err := layout(out, value[key], inner); err != nil {
				return err
			}
		}
		out.WriteString("\n" + indent + "}")
		return nil
	case []any:
		if len(text) <= width {
			break
		}
		for i, each := range value {
			out.WriteString(open(i, "[") + inner)
			if err := layout(out, each, inner); err != nil {
				return err
			}
		}
		out.WriteString("\n" + indent + "]")
		return nil
	}
	out.Write(text)
	return nil
}

// open is what stands before element i of a broken-up value.
func open(i int, bracket string) string {
	if i == 0 {
		return bracket + "\n"
	}
	return ",\n"
}

// encode gives JSON on one line, with < and > as they are.
func encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(text.Bytes()), nil
}

func readJSON(name string, into any) error {
	text, err := os.ReadFile(filepath.Join(transcripts(), name+".json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read transcript %s: %w", name, err)
	}
	return nil
}

func baseConf() (map[string]any, error) {
	var conf map[string]any
	err := readJSON(base, &conf)
	return conf, err
}

// recorded gives what stock answered.
func recorded(name string) (record, error) {
	var rec record
	if err := readJSON(name, &rec); err != nil {
		return rec, fmt.Errorf("no transcript of stock (compat-tests/run record makes it): %w", err)
	}
	if rec.Conf == nil {
		return rec, nil
	}
	conf, err := baseConf()
	if err != nil {
		return rec, fmt.Errorf("no transcript of stock (compat-tests/run record makes it): %w", err)
	}
	for key, value := range rec.Conf {
		conf[key] = value
		if value == absent {
			delete(conf, key)
		}
	}
	rec.Conf = conf
	return rec, nil
}

// compare fails the test where gust's record differs from stock's, but for the known differences, which are tests of
// their own.
func compare(t *testing.T, name string, stock, gust record) {
	t.Helper()
	want, got := plain(t, stock), plain(t, gust)
	for _, diff := range diffs.Of(name) {
		t.Run(fmt.Sprintf("Diff%02d%s", diff.Number, diff.Name), func(t *testing.T) {
			for _, place := range diff.At {
				path := strings.Join(place.Path, " / ")
				if d := gocmp.Diff(place.Stock, diffs.Take(want, place.Path)); d != "" {
					t.Errorf("stock does not answer what the difference says at %s (-diff +stock):\n%s", path, d)
				}
				if d := gocmp.Diff(place.Gust, diffs.Take(got, place.Path)); d != "" {
					t.Errorf("gust does not answer what the difference says at %s (-diff +gust):\n%s", path, d)
				}
			}
		})
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("gust differs from stock Storm %s (-stock +gust):\n%s", stock.Storm, d)
	}
}

// plain turns a record into bare JSON values, so that a transcript and a fresh record compare.
func plain(t *testing.T, rec record) any {
	t.Helper()
	text, err := json.Marshal(rec)
	if err != nil {
		t.Fatalf("encode record: %v", err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("decode record: %v", err)
	}
	return value
}
