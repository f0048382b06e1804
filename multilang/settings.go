// SPDX-License-Identifier: Apache-2.0

package multilang

// This file reads what a topology's conf says about children.

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/multilang/codec"
	"github.com/gust-stream/gust/multilang/component"
)

// Keys of the conf.
const (
	keySerializer      = "gust.multilang.serializer"
	keyJavaSerializer  = "topology.multilang.serializer"
	keyStray           = "gust.multilang.stray.output"
	keyLogLevel        = "gust.multilang.log.level"
	keyJavaLogHandler  = "topology.multilang.log.handler"
	keyMemory          = "gust.multilang.child.memory.mb"
	keyMessageBytes    = "gust.multilang.message.max.bytes"
	keyStartTimeout    = "gust.multilang.start.timeout.secs"
	keyTimeout         = "topology.subprocess.timeout.secs"
	keyWorkerTimeout   = "supervisor.worker.timeout.secs"
	keyPending         = "topology.shellbolt.max.pending"
	keyShutdown        = "supervisor.worker.shutdown.sleep.secs"
	defaultJavaHandler = "org.apache.storm.utils.DefaultShellLogHandler"
)

// Settings are a topology's choices about its children. The zero value of a field means the default named with it.
type Settings struct {
	// Format is how messages are written: JSON.
	Format codec.Format
	// LogStray logs output that is no message and goes on; else the child ends with an error.
	LogStray bool
	// LogLevel is the lowest level of a child's log messages that is passed on: Trace.
	LogLevel component.Level
	// MemoryMB bounds the memory of a child and its own children: no bound.
	MemoryMB int64
	// MaxMessage bounds the bytes of a message in either direction: 64 MiB.
	MaxMessage int
	// MaxTaskIDs bounds the bytes of task ids that a child has not read: 4 MiB.
	MaxTaskIDs int
	// Timeout is how long a child may be silent, StartTimeout how long until its first answer: 30 s, 300 s.
	Timeout, StartTimeout time.Duration
	// MaxPending bounds the tuples that wait unsent: 100.
	MaxPending int
	// KillWait is the time between asking a child to end and killing it: 3 s.
	KillWait time.Duration
	// Beat is the time between two heartbeats: 1 s.
	Beat time.Duration
	// Warnings are sentences for the worker's log, to be said once.
	Warnings []string
}

// ParseSettings reads a topology's conf. An error says which key cannot be followed.
func ParseSettings(conf config.Conf) (Settings, error) {
	var s Settings
	var faults []error
	if err := s.parseFormat(conf); err != nil {
		faults = append(faults, err)
	}
	switch stray := conf.String(keyStray, "fail"); stray {
	case "fail":
	case "log":
		s.LogStray = true
	default:
		faults = append(faults, fmt.Errorf("%s is %q: fail or log is possible", keyStray, stray))
	}
	level, ok := levelOf(conf.String(keyLogLevel, "trace"))
	if !ok {
		faults = append(faults, fmt.Errorf("%s is %q: trace, debug, info, warn or error is possible", keyLogLevel, conf.String(keyLogLevel, "")))
	}
	s.LogLevel = level
	if handler := conf.String(keyJavaLogHandler, ""); handler != "" && handler != defaultJavaHandler {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%s is not followed, since %s is a Java class: log messages go to the worker's log, see %s",
			keyJavaLogHandler, handler, keyLogLevel))
	}
	s.MemoryMB = conf.Int(keyMemory, 0)
	s.MaxMessage = int(conf.Int(keyMessageBytes, 0))
	s.StartTimeout = seconds(conf, keyStartTimeout)
	s.Timeout = seconds(conf, keyTimeout)
	if s.Timeout == 0 {
		s.Timeout = seconds(conf, keyWorkerTimeout)
	}
	s.MaxPending = int(conf.Int(keyPending, 0))
	s.KillWait = seconds(conf, keyShutdown)
	return s, errors.Join(faults...)
}

func seconds(conf config.Conf, key string) time.Duration {
	return time.Duration(conf.Float(key, 0) * float64(time.Second))
}

// parseFormat follows our key, and Storm's where the class is known for its format.
func (s *Settings) parseFormat(conf config.Conf) error {
	switch name := conf.String(keySerializer, ""); name {
	case "json":
		return nil
	case "msgpack":
		s.Format = codec.Msgpack
		return nil
	case "":
	default:
		return fmt.Errorf("%s is %q: json or msgpack is possible", keySerializer, name)
	}
	class := conf.String(keyJavaSerializer, "")
	short := strings.ToLower(class[strings.LastIndexByte(class, '.')+1:])
	switch {
	case short == "" || strings.Contains(short, "json"):
		return nil
	case strings.Contains(short, "msgpack") || strings.Contains(short, "messagepack"):
		s.Format = codec.Msgpack
		return nil
	}
	return fmt.Errorf("%s is the Java class %s: say in %s which format it writes, json or msgpack", keyJavaSerializer, class, keySerializer)
}

func levelOf(name string) (component.Level, bool) {
	switch strings.ToLower(name) {
	case "trace":
		return component.Trace, true
	case "debug":
		return component.Debug, true
	case "info":
		return component.Info, true
	case "warn":
		return component.Warn, true
	case "error":
		return component.Error, true
	}
	return component.Trace, false
}

func (s Settings) withDefaults() Settings {
	orElse(&s.MaxMessage, 64<<20)
	orElse(&s.MaxTaskIDs, 4<<20)
	orElse(&s.Timeout, 30*time.Second)
	orElse(&s.StartTimeout, 300*time.Second)
	s.StartTimeout = max(s.StartTimeout, s.Timeout)
	orElse(&s.MaxPending, 100)
	orElse(&s.KillWait, 3*time.Second)
	orElse(&s.Beat, time.Second)
	return s
}

func orElse[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}
