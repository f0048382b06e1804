// SPDX-License-Identifier: Apache-2.0

package engine_test

// Fuzz tests with broken objects and class files.

import (
	"testing"
	"testing/fstest"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology/engine"
	"github.com/gust-stream/gust/topology/engine/enginetest"
)

// FuzzDecide hands in a broken object with a broken class file.
func FuzzDecide(f *testing.F) {
	all, err := enginetest.Load("testdata/java-2.8.3.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, v := range all {
		class := []byte{}
		for _, file := range v.Classes {
			class = file.Data
		}
		f.Add(v.Object, class)
	}
	f.Fuzz(func(t *testing.T, object, class []byte) {
		jar := fstest.MapFS{}
		for _, name := range []string{"Plain", "Helpers", "Deeper", "Spout", "Static", "Asserting"} {
			jar["Variants$"+name+".class"] = &fstest.MapFile{Data: class}
		}
		in := engine.Input{Conf: config.Conf{}, Jar: jar, Topology: &storm.StormTopology{Bolts: map[string]*storm.Bolt{
			"x": {BoltObject: &storm.ComponentObject{SerializedJava: object}, Common: &storm.ComponentCommon{
				Inputs: map[*storm.GlobalStreamId]*storm.Grouping{{ComponentId: "x", StreamId: "default"}: {CustomSerialized: object}},
			}},
		}}}
		plan, err := engine.Decide(in)
		if err != nil {
			t.Fatal(err)
		}
		if c := plan.Components["x"]; c.Engine == engine.Go && (c.Child == nil || len(c.Child.Command) == 0 || c.Child.Command[0] == "") {
			t.Errorf("on Go without a command: %+v", c)
		}
	})
}
