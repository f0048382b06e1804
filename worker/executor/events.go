// SPDX-License-Identifier: Apache-2.0

package executor

// This file shows people what components emit: a part of it goes to the event loggers, which write it down.

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/gust-stream/gust/multilang/component"
)

// debugScale is how many units a percent has where a share is kept as a whole number.
const debugScale = 1000

// debugged sends an emit to the event loggers if it is one of those to show. id is the spout's, nil for bolts.
func (t *task) debugged(values []any, id any) {
	share := t.debug.Load()
	if share == 0 || rand.Int64N(100*debugScale) >= share {
		return
	}
	event := []any{t.component, id, time.Now().UnixMilli(), values}
	to, err := t.events.route.Choose(event, nil)
	if err != nil {
		return // a direct grouping, which no event logger has
	}
	for _, task := range to {
		t.router.Send(task, t.tuple(t.events.source, event))
	}
}

// eventLogger is Storm's EventLoggerBolt with its FileBasedEventLogger, line by line.
type eventLogger struct{ write func(line string) }

// Execute writes one line.
func (l eventLogger) Execute(t *component.Tuple, out *component.Output) error {
	if t.IsTick() || len(t.Values) < 4 {
		out.Ack(t)
		return nil
	}
	at, _ := t.Values[2].(int64) // else 1970 shows that it was none
	id := ""
	if t.Values[1] != nil {
		id = fmt.Sprint(t.Values[1])
	}
	l.write(fmt.Sprintf("%s,%v,%d,%s,%s", time.UnixMilli(at).Format("Mon Jan 02 15:04:05 MST 2006"), t.Values[0], t.Task, id, list(t.Values[3])))
	out.Ack(t)
	return nil
}

// list is how Java writes a list.
func list(v any) string {
	values, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	texts := make([]string, len(values))
	for i, v := range values {
		if texts[i] = list(v); v == nil {
			texts[i] = "null"
		}
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
