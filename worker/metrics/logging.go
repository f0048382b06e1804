// SPDX-License-Identifier: Apache-2.0

package metrics

// This file holds the metrics consumer that writes data points into a log.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/topology"
	"github.com/gust-stream/gust/tuple"
)

// LoggingClass is the metrics consumer of Storm's that [Logging] stands for.
const LoggingClass = "org.apache.storm.metric.LoggingMetricsConsumer"

// Logging is a bolt that writes a line for each data point, as Storm's LoggingMetricsConsumer within its MetricsConsumerBolt.
type Logging struct {
	white, black []*regexp.Regexp
	expand       bool
	separator    string
	write        func(line string)
}

// NewLogging makes the bolt of an entry of topology.metrics.consumer.register, of which it takes whitelist, blacklist, expandMapType and
// metricNameSeparator.
func NewLogging(entry config.Conf, write func(line string)) (*Logging, error) {
	l := &Logging{expand: entry.Bool("expandMapType", false), separator: entry.String("metricNameSeparator", "."), write: write}
	for key, to := range map[string]*[]*regexp.Regexp{"whitelist": &l.white, "blacklist": &l.black} {
		for _, pattern := range entry.Strings(key) {
			re, err := regexp.Compile(pattern)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", config.TopologyMetricsConsumerRegister, key, err)
			}
			*to = append(*to, re)
		}
	}
	if l.white != nil && l.black != nil {
		return nil, fmt.Errorf("%s: an entry has both whitelist and blacklist", config.TopologyMetricsConsumerRegister)
	}
	return l, nil
}

// LoggingEntry is the entry of topology.metrics.consumer.register that a component stands for, if its class is LoggingClass.
func LoggingEntry(conf config.Conf, componentID string) (config.Conf, bool) {
	list, _ := conf[config.TopologyMetricsConsumerRegister].([]any)
	seen := 0
	for _, v := range list {
		entry, _ := v.(map[string]any)
		if entry["class"] != LoggingClass {
			continue
		}
		id := topology.MetricsPrefix + LoggingClass
		if seen++; seen > 1 {
			id = fmt.Sprintf("%s#%d", id, seen)
		}
		if id == componentID {
			return entry, true
		}
	}
	return nil, false
}

// Execute writes the data points of a task.
func (l *Logging) Execute(t *component.Tuple, out *component.Output) error {
	if len(t.Values) < 2 {
		return fmt.Errorf("metrics of %s: %d values", t.Component, len(t.Values))
	}
	info, isInfo := t.Values[0].(tuple.TaskInfo)
	points, isList := t.Values[1].([]any)
	if !isInfo || !isList {
		return fmt.Errorf("metrics of %s: a %T and a %T", t.Component, t.Values[0], t.Values[1])
	}
	for _, v := range points {
		point, is := v.(tuple.DataPoint)
		if !is {
			return fmt.Errorf("metrics of %s: a %T among the data points", t.Component, v)
		}
		l.point(info, point)
	}
	out.Ack(t)
	return nil
}

func (l *Logging) point(info tuple.TaskInfo, p tuple.DataPoint) {
	parts, isMap := p.Value.(map[string]any)
	if !l.expand || !isMap {
		l.line(info, p.Name, p.Value)
		return
	}
	var keys []string
	for key := range parts {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		l.line(info, p.Name+l.separator+key, parts[key])
	}
}

func (l *Logging) line(info tuple.TaskInfo, name string, value any) {
	if l.white != nil && !matches(l.white, name) || matches(l.black, name) {
		return
	}
	// Storm cuts the name to its column; here the whole of it is there.
	l.write(fmt.Sprintf("%d\t%15s:%-4d\t%3d:%-11s\t%-23s\t%s", info.Time, info.Host, info.Port, info.Task, info.Component, name, text(value)))
}

func matches(patterns []*regexp.Regexp, name string) bool {
	return slices.ContainsFunc(patterns, func(re *regexp.Regexp) bool { return re.MatchString(name) })
}

// text is a value as Java writes it.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case float64:
		if s := fmt.Sprint(v); strings.ContainsAny(s, ".eNI") {
			return s
		}
		return fmt.Sprintf("%.1f", v)
	case map[string]any:
		var parts []string
		for key, value := range v {
			parts = append(parts, key+"="+text(value))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, value := range v {
			parts = append(parts, text(value))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}
