// SPDX-License-Identifier: Apache-2.0

// This file holds the Java objects of the system's bolts. A worker makes these
// bolts itself; the bytes only show up in getTopology.

package topology

import "github.com/gust-stream/gust/thrift/storm"

// What Java writes when it serializes a fresh Acker, SystemBolt and
// EventLoggerBolt: stream header, class name, its serial version, its fields, nulls.
const (
	ackerObject = "\xac\xed\x00\x05sr\x00\x1dorg.apache.storm.daemon.Acker=}\xbeT\xff\xf4\x8b\xf3\x02\x00\x02L\x00\x09co" +
		"llectort\x00'Lorg/apache/storm/task/OutputCollector;L\x00\x07pendingt\x00$Lorg/apache/storm/utils/Rot" +
		"atingMap;xppp"
	systemBoltObject  = "\xac\xed\x00\x05sr\x00\x22org.apache.storm.metric.SystemBolt\xb2\x0d_\x9f<9;:\x02\x00\x00xp"
	eventLoggerObject = "\xac\xed\x00\x05sr\x00'org.apache.storm.metric.EventLoggerBolt\x0d8Gf\x04\xdf\xbf\x94\x02\x00\x01L\x00" +
		"\x0ceventLoggerst\x00\x10Ljava/util/List;xpp"
)

// serialized is a component object in Java's serialized form.
func serialized(object string) *storm.ComponentObject {
	return &storm.ComponentObject{SerializedJava: []byte(object)}
}

// metricsConsumer stands for Storm's bolt around a metrics consumer. Storm
// serializes that bolt with a queue, a cache and filters, 2.8 kB whose form is that
// of the Java release; here it is its class with the consumer's.
func metricsConsumer(class string) *storm.ComponentObject {
	return &storm.ComponentObject{JavaObject: &storm.JavaObject{
		FullClassName: "org.apache.storm.metric.MetricsConsumerBolt",
		ArgsList:      []*storm.JavaObjectArg{{StringArg: &class}},
	}}
}
