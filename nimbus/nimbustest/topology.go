// SPDX-License-Identifier: Apache-2.0

// Topologies for tests, and the way a client submits them.

package nimbustest

import (
	"testing"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// WordCount is a topology of a spout and two bolts; its objects are no Java objects, so it cannot run.
func WordCount(spouts, splitters, counters int32) *storm.StormTopology {
	none := &storm.NullStruct{}
	object := &storm.ComponentObject{SerializedJava: []byte{0xac, 0xed, 0, 5}}
	common := func(hint int32, inputs map[*storm.GlobalStreamId]*storm.Grouping, fields ...string) *storm.ComponentCommon {
		c := &storm.ComponentCommon{Inputs: inputs, Streams: map[string]*storm.StreamInfo{}, ParallelismHint: &hint}
		if inputs == nil {
			c.Inputs = map[*storm.GlobalStreamId]*storm.Grouping{}
		}
		if len(fields) > 0 {
			c.Streams["default"] = &storm.StreamInfo{OutputFields: fields}
		}
		return c
	}
	from := func(id string, g *storm.Grouping) map[*storm.GlobalStreamId]*storm.Grouping {
		return map[*storm.GlobalStreamId]*storm.Grouping{{ComponentId: id, StreamId: "default"}: g}
	}
	version := config.TableVersion
	return &storm.StormTopology{
		Spouts: map[string]*storm.SpoutSpec{"spout": {SpoutObject: object, Common: common(spouts, nil, "sentence")}},
		Bolts: map[string]*storm.Bolt{
			"split": {BoltObject: object, Common: common(splitters, from("spout", &storm.Grouping{Shuffle: none}), "word")},
			"count": {BoltObject: object, Common: common(counters, from("split", &storm.Grouping{Fields: []string{"word"}}), "word", "count")},
		},
		StateSpouts: map[string]*storm.StateSpoutSpec{}, StormVersion: &version,
	}
}

// emptyJar is a JAR without a file in it: the end of a ZIP's directory.
const emptyJar = "PK\x05\x06" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// Upload puts a small file into the inbox, as storm jar does, and returns its location.
func Upload(tb testing.TB, c *storm.NimbusClient) string {
	tb.Helper()
	location, err := c.BeginFileUpload(tb.Context())
	if err != nil {
		tb.Fatalf("begin upload: %v", err)
	}
	if err := c.UploadChunk(tb.Context(), location, []byte(emptyJar)); err != nil {
		tb.Fatalf("upload: %v", err)
	}
	if err := c.FinishFileUpload(tb.Context(), location); err != nil {
		tb.Fatalf("finish upload: %v", err)
	}
	return location
}

// Submit uploads a file and submits a topology; conf may be nil. It returns the id.
func Submit(tb testing.TB, c *storm.NimbusClient, name string, conf config.Conf, topology *storm.StormTopology) string {
	tb.Helper()
	if conf == nil {
		conf = config.Conf{}
	}
	text, err := conf.JSON()
	if err != nil {
		tb.Fatalf("conf: %v", err)
	}
	if err := c.SubmitTopology(tb.Context(), name, Upload(tb, c), string(text), topology); err != nil {
		tb.Fatalf("submit %s: %v", name, err)
	}
	summary, err := c.GetTopologySummaryByName(tb.Context(), name)
	if err != nil {
		tb.Fatalf("find %s: %v", name, err)
	}
	return summary.ID
}
