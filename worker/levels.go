// SPDX-License-Identifier: Apache-2.0

package worker

// This file lets operators change the levels of loggers while the worker runs.

import (
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/gust-stream/gust/thrift/storm"
)

// Levels beyond zap's own.
const (
	traceLevel = zapcore.DebugLevel - 1
	offLevel   = zapcore.FatalLevel + 1
)

// rootLogger is Storm's name for what has no level of its own.
const rootLogger = "ROOT"

// levelTable holds the levels that are in force. It is not changed.
type levelTable struct {
	root   zapcore.Level
	named  map[string]zapcore.Level
	lowest zapcore.Level // of all
}

// of gives the level of a logger: its own, that of the nearest logger above it, or def.
func (t *levelTable) of(name string, def zapcore.Level) zapcore.Level {
	for len(t.named) > 0 {
		if level, ok := t.named[name]; ok {
			return level
		}
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			break
		}
		name = name[:dot]
	}
	return def
}

// levels is safe for concurrent use.
type levels struct{ table atomic.Pointer[levelTable] }

func newLevels() *levels {
	l := &levels{}
	l.apply(nil, time.Time{})
	return l
}

// apply puts the levels of a topology in force, as far as their time has not run out, and says when the first of them does; the
// zero time if none does.
func (l *levels) apply(config *storm.LogConfig, now time.Time) (next time.Time) {
	table := &levelTable{root: zapcore.InfoLevel, named: map[string]zapcore.Level{}}
	if config == nil {
		config = storm.NewLogConfig()
	}
	for name, set := range config.NamedLoggerLevel {
		if set == nil {
			continue
		}
		level, known := parseLevel(set.GetTargetLogLevel())
		if set.Action == storm.LogLevelAction_REMOVE || !known {
			continue
		}
		if epoch := set.GetResetLogLevelTimeoutEpoch(); epoch > 0 {
			end := time.UnixMilli(epoch)
			if !end.After(now) {
				continue
			}
			if next.IsZero() || end.Before(next) {
				next = end
			}
		}
		if name == rootLogger || name == "" {
			table.root = level
		} else {
			table.named[name] = level
		}
	}
	table.lowest = table.root
	for _, level := range table.named {
		table.lowest = min(table.lowest, level)
	}
	l.table.Store(table)
	return next
}

// parseLevel reads a level by log4j's name.
func parseLevel(name string) (zapcore.Level, bool) {
	switch strings.ToUpper(name) {
	case "ALL", "TRACE":
		return traceLevel, true
	case "DEBUG":
		return zapcore.DebugLevel, true
	case "INFO":
		return zapcore.InfoLevel, true
	case "WARN":
		return zapcore.WarnLevel, true
	case "ERROR":
		return zapcore.ErrorLevel, true
	case "FATAL":
		return zapcore.FatalLevel, true
	case "OFF":
		return offLevel, true
	}
	return 0, false
}

// leveled is a core that heeds the levels.
type leveled struct {
	zapcore.Core
	levels *levels
	// all says that lines of loggers without a level of their own pass whatever their level is.
	all bool
}

// Enabled says whether a line of that level can pass at all.
func (c leveled) Enabled(level zapcore.Level) bool {
	return c.all || level >= c.levels.table.Load().lowest
}

// With adds fields.
func (c leveled) With(fields []zapcore.Field) zapcore.Core {
	c.Core = c.Core.With(fields)
	return c
}

// Check lets a line pass if its logger's level allows it.
func (c leveled) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	table := c.levels.table.Load()
	def := table.root
	if c.all {
		def = traceLevel
	}
	if entry.Level >= table.of(entry.LoggerName, def) {
		return checked.AddCore(entry, c)
	}
	return checked
}
