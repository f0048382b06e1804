// SPDX-License-Identifier: Apache-2.0

package engine_test

// Tests of the decision for whole topologies.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
	"github.com/gust-stream/gust/topology/engine"
	"github.com/gust-stream/gust/topology/engine/enginetest"
)

// bench is a topology under construction: lines of "id < source ..." with a component's object by id.
type bench struct {
	topology *storm.StormTopology
	conf     config.Conf
	jar      fstest.MapFS
}

func shell(command, script string) *storm.ComponentObject {
	return &storm.ComponentObject{Shell: &storm.ShellComponent{ExecutionCommand: command, Script: script}}
}

func newBench() *bench {
	return &bench{
		topology: &storm.StormTopology{Spouts: map[string]*storm.SpoutSpec{}, Bolts: map[string]*storm.Bolt{}},
		conf:     config.Conf{config.TopologyMessageTimeoutSecs: int64(30)},
		jar:      fstest.MapFS{},
	}
}

func (b *bench) spout(id string, object *storm.ComponentObject) *bench {
	b.topology.Spouts[id] = &storm.SpoutSpec{SpoutObject: object, Common: common()}
	return b
}

func (b *bench) bolt(id string, object *storm.ComponentObject, from string, g *storm.Grouping) *bench {
	c := common()
	c.Inputs[&storm.GlobalStreamId{ComponentId: from, StreamId: "default"}] = g
	b.topology.Bolts[id] = &storm.Bolt{BoltObject: object, Common: c}
	return b
}

func (b *bench) own(id, key, value string) *bench {
	text := fmt.Sprintf("{%q: %q}", key, value)
	if s := b.topology.Spouts[id]; s != nil {
		s.Common.JSONConf = &text
	} else {
		b.topology.Bolts[id].Common.JSONConf = &text
	}
	return b
}

func common() *storm.ComponentCommon {
	return &storm.ComponentCommon{
		Inputs:  map[*storm.GlobalStreamId]*storm.Grouping{},
		Streams: map[string]*storm.StreamInfo{"default": {OutputFields: []string{"x"}}},
	}
}

func shuffle() *storm.Grouping { return &storm.Grouping{Shuffle: &storm.NullStruct{}} }

func (b *bench) decide(t *testing.T) (engine.Plan, error) {
	t.Helper()
	system, err := topology.System(b.conf, b.topology)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Decide(engine.Input{Conf: b.conf, Topology: system, Jar: b.jar})
}

// engines decides and gives "id=engine ..." without the system bolt.
func (b *bench) engines(t *testing.T) string {
	t.Helper()
	plan, err := b.decide(t)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, id := range slices.Sorted(maps.Keys(plan.Components)) {
		if id != topology.SystemID {
			out = append(out, fmt.Sprintf("%s=%s", id, plan.Components[id].Engine))
		}
	}
	return strings.Join(out, " ")
}

func objects(t *testing.T) map[string]enginetest.Variant {
	t.Helper()
	all, err := enginetest.Load("testdata/java-2.8.3.txt")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func serialized(v enginetest.Variant) *storm.ComponentObject {
	return &storm.ComponentObject{SerializedJava: v.Object}
}

// python is a topology of two Python components; mixed has a Java bolt behind them.
func python() *bench {
	return newBench().spout("words", shell("python3", "words.py")).bolt("split", shell("python3", "split.py"), "words", shuffle())
}

func mixed(t *testing.T) *bench {
	t.Helper()
	return python().bolt("count", serialized(objects(t)["bolt"]), "split", shuffle())
}

func TestDecideByKind(t *testing.T) {
	t.Parallel()
	all := objects(t)
	javaSpout := mixed(t)
	javaSpout.topology.Spouts["words"].SpoutObject = serialized(all["failing-spout"])
	javaSpout.jar = all["failing-spout"].Classes
	classes := python()
	classes.topology.Bolts["split"].BoltObject = serialized(all["plain"])
	withJar := *classes
	withJar.jar = all["plain"].Classes
	consumer := python()
	consumer.conf[config.TopologyMetricsConsumerRegister] = []any{map[string]any{"class": "com.example.Consumer"}}
	const logging = "org.apache.storm.metric.LoggingMetricsConsumer"
	logs, mixedLogs := python(), mixed(t)
	for _, b := range []*bench{logs, mixedLogs} {
		b.conf[config.TopologyMetricsConsumerRegister] = []any{map[string]any{"class": logging}, map[string]any{"class": logging}}
	}
	logger := python()
	logger.conf[config.TopologyEventloggerExecutors] = int64(1)
	linked := python()
	linked.topology.Spouts["words"].SpoutObject = shell("sh", "words.sh")
	linked.conf[config.GustTopologyGoBinary] = "words"
	for _, test := range []struct {
		name  string
		bench *bench
		want  string
	}{
		{"ShellOnly", python(), "__acker=go split=go words=go"},
		{"ShellAndGo", linked, "__acker=go split=go words=go"},
		{"ShellAndJava", mixed(t), "__acker=go count=java split=go words=go"},
		{"JavaSpout", javaSpout, "__acker=java count=java split=go words=java"},
		{"ClassWithoutJar", classes, "__acker=go split=java words=go"},
		{"ClassInJar", &withJar, "__acker=go split=go words=go"},
		{"MetricsConsumer", consumer, "__acker=go __metrics_com.example.Consumer=java split=go words=go"},
		{"LoggingConsumer", logs, "__acker=go __metrics_" + logging + "=go __metrics_" + logging + "#2=go split=go words=go"},
		{"LoggingConsumerOfJava", mixedLogs, "__acker=go __metrics_" + logging + "=java __metrics_" + logging + "#2=java count=java split=go words=go"},
		{"EventLogger", logger, "__acker=go __eventlogger=go split=go words=go"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.bench.engines(t); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestDecideByConditions goes through all that keeps components on Java.
func TestDecideByConditions(t *testing.T) {
	t.Parallel()
	all := objects(t)
	set := func(b *bench, key string, value any) *bench {
		b.conf[key] = value
		return b
	}
	old := python()
	old.topology.StormVersion = new("2.5.0")
	newer := python()
	newer.topology.StormVersion = new("2.10.1")
	hooks := python()
	hooks.topology.WorkerHooks = [][]byte{{1}}
	grouped := func(name string) *bench {
		return python().bolt("last", shell("sh", "last.sh"), "split", &storm.Grouping{CustomSerialized: all[name].Object})
	}
	services := mixed(t)
	services.jar = fstest.MapFS{"META-INF/services/org.apache.storm.serialization.SerializationRegister": {}}
	const allJava, allGo, apart = "__acker=java split=java words=java", "__acker=go split=go words=go", "__acker=go count=java split=java words=go"
	kryo := map[string]any{"com.example.Word": nil}
	for _, test := range []struct {
		name  string
		bench *bench
		want  string
	}{
		{"Java", set(python(), config.GustTopologyWorkerEngine, "java"), allJava},
		{"Auto", set(python(), config.GustTopologyWorkerEngine, "auto"), allGo},
		{"Go", set(python(), config.GustTopologyWorkerEngine, "go"), allGo},
		{"OneOnJava", python().own("split", config.GustTopologyWorkerEngine, "java"), "__acker=go split=java words=go"},
		{"OldStorm", old, allJava},
		{"NewStorm", newer, allGo},
		{"WorkerHooks", hooks, allJava},
		{"Authentication", set(python(), config.StormMessagingNettyAuthentication, true), allJava},
		{"TLS", set(python(), config.StormMessagingNettyTlsEnable, true), allJava},
		{"Transport", set(python(), config.StormMessagingTransport, "com.example.Transport"), allJava},
		{"Serializer", set(python(), config.TopologyMultilangSerializer, "com.example.Fast"), allJava},
		{"SerializerAndOurs", set(set(python(), config.TopologyMultilangSerializer, "com.example.Fast"), config.GustMultilangSerializer, "msgpack"), allGo},
		{"OneSerializer", python().own("split", config.TopologyMultilangSerializer, "com.example.Fast"), "__acker=go split=java words=go"},
		{"LogHandler", set(python(), config.TopologyMultilangLogHandler, "com.example.Logs"), allJava},
		{"DefaultLogHandler", set(python(), config.TopologyMultilangLogHandler, "org.apache.storm.utils.DefaultShellLogHandler"), allGo},
		{"TaskHooks", set(python(), config.TopologyAutoTaskHooks, []any{"com.example.Hook"}), allJava},
		{"PartialKey", grouped("partial-key"), "__acker=go last=go split=go words=go"},
		{"OwnPartialKey", grouped("partial-key-own"), "__acker=go last=go split=java words=go"},
		{"Grouping", grouped("grouping"), "__acker=go last=go split=java words=go"},
		{"KryoOnGo", set(python(), config.TopologyKryoRegister, kryo), allGo},
		{"KryoEmpty", set(mixed(t), config.TopologyKryoRegister, map[string]any{}), "__acker=go count=java split=go words=go"},
		{"Kryo", set(mixed(t), config.TopologyKryoRegister, kryo), "__acker=java count=java split=java words=java"},
		{"Decorators", set(mixed(t), config.TopologyKryoDecorators, []any{"com.example.Decorator"}), "__acker=java count=java split=java words=java"},
		{"Factory", set(mixed(t), config.TopologyKryoFactory, "com.example.Factory"), "__acker=java count=java split=java words=java"},
		{"TupleSerializer", set(mixed(t), config.TopologyTupleSerializer, "com.example.Tuples"), "__acker=java count=java split=java words=java"},
		{"FallBack", set(mixed(t), config.TopologyFallBackOnJavaSerialization, true), "__acker=java count=java split=java words=java"},
		{"Services", services, "__acker=java count=java split=java words=java"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := test.bench.engines(t)
			if test.want == "__acker=java count=java split=java words=java" && got == apart {
				t.Fatalf("words stayed on Go, though its neighbour did not")
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestDecideRefusesGo(t *testing.T) {
	t.Parallel()
	forced := mixed(t)
	forced.conf[config.GustTopologyWorkerEngine] = "go"
	sasl := python()
	sasl.conf[config.GustTopologyWorkerEngine] = "go"
	sasl.conf[config.StormMessagingNettyAuthentication] = true
	consumer := python()
	consumer.conf[config.GustTopologyWorkerEngine] = "go"
	consumer.conf[config.TopologyMetricsConsumerRegister] = []any{map[string]any{"class": "com.example.Consumer"}}
	typo := python()
	typo.conf[config.GustTopologyWorkerEngine] = "golang"
	const head = "gust.topology.worker.engine is go, but not all of it can run on Go workers: "
	for _, test := range []struct {
		name  string
		bench *bench
		want  string
	}{
		{"Java", forced, head + "component count cannot: Java class Variants$Bolt"},
		{"One", mixed(t).own("count", config.GustTopologyWorkerEngine, "go"), head + "component count cannot: Java class Variants$Bolt"},
		{"Authentication", sasl, head + "component split cannot: storm.messaging.netty.authentication is on; " +
			"component words cannot: storm.messaging.netty.authentication is on"},
		{"MetricsConsumer", consumer, head + "component __metrics_com.example.Consumer cannot: Java class com.example.Consumer"},
		{"Typo", typo, `gust.topology.worker.engine is "golang", but it must be auto, java or go`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := test.bench.decide(t)
			refused, ok := errors.AsType[*storm.InvalidTopologyException](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(test.want, refused.Msg); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// TestForcedGoMeetsAnOddWire lets a component say that its tuples are plain in spite of registrations.
func TestForcedGoMeetsAnOddWire(t *testing.T) {
	t.Parallel()
	b := mixed(t).own("split", config.GustTopologyWorkerEngine, "go")
	b.conf[config.TopologyKryoRegister] = map[string]any{"com.example.Word": nil}
	if got, want := b.engines(t), "__acker=go count=java split=go words=go"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEnginesForTheConf(t *testing.T) {
	t.Parallel()
	plan, err := mixed(t).decide(t)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"__acker": "go", "split": "go", "words": "go"}
	if diff := cmp.Diff(want, plan.Engines()); diff != "" {
		t.Error(diff)
	}
	b := mixed(t)
	b.conf[config.GustTopologyWorkerEngine] = "java"
	if plan, err = b.decide(t); err != nil || plan.Engines() != nil {
		t.Errorf("got %v, %v", plan.Engines(), err)
	}
}
