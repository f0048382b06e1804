// SPDX-License-Identifier: Apache-2.0

package multilang

// This file reads pystorm's log message about an emit that it could not write, say for bytes that are no text. pystorm goes on then as
// if it had emitted: the tuple is lost without a trace but this one.

import (
	"strings"

	"github.com/gust-stream/gust/multilang/component"
)

const lostMark = "pystorm.serializers.serializer - Failed to send message: {"

// lost is an emit that never came.
type lost struct {
	anchors []ref
	id      any // a spout's
	want    bool
	reason  string
}

// lostEmit understands the message: it shows the emit as Python shows a dict, whose entries behind the tuple's values are wanted
// here, and then a stack trace.
func lostEmit(m *message) (lost, bool) {
	if m.level != component.Error {
		return lost{}, false
	}
	at := strings.Index(m.text, lostMark)
	if at < 0 {
		return lost{}, false
	}
	shown, trace, _ := strings.Cut(m.text[at+len(lostMark):], "\nTraceback")
	if !strings.HasPrefix(shown, "'command': 'emit'") {
		return lost{}, false
	}
	l := lost{want: !strings.Contains(shown, "'need_task_ids': False") && !strings.Contains(shown, "], 'task': ")}
	if from := strings.LastIndex(shown, "'anchors': ["); from >= 0 {
		list, _, _ := strings.Cut(shown[from+len("'anchors': ["):], "]")
		for item := range strings.SplitSeq(list, ",") {
			if r := refOf([]byte(strings.Trim(item, " '\""))); r != 0 {
				l.anchors = append(l.anchors, r)
			}
		}
	}
	if from := strings.LastIndex(shown, ", 'id': '"); from >= 0 {
		text, _, _ := strings.Cut(shown[from+len(", 'id': '"):], "'")
		l.id = text
	}
	l.reason = exception(trace)
	return l, true
}

// exception is the first line of a stack trace behind its head that is not indented.
func exception(trace string) string {
	_, frames, _ := strings.Cut(trace, "\n")
	for line := range strings.Lines(frames) {
		if line[0] != ' ' {
			return strings.TrimSpace(line)
		}
	}
	return "no reason given"
}
