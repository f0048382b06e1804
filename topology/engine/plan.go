// SPDX-License-Identifier: Apache-2.0

package engine

// This file holds what a decision looks like.

import (
	"fmt"
	"io/fs"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// Engine is what runs an executor.
type Engine string

// The engines. Both is for what every worker has one of, the system bolt.
const (
	Go   Engine = "go"
	Java Engine = "java"
	Both Engine = "both"
)

// Kind is what a component is made of.
type Kind string

// The kinds of components.
const (
	Shell  Kind = "shell"  // a child process
	Linked Kind = "linked" // Go code of the topology's own binary
	Class  Kind = "java"   // a Java object that needs Java
	System Kind = "system" // one of the components that every topology has
)

// Input is what a decision depends on.
type Input struct {
	// Conf is the topology's whole conf, with the daemon's below it.
	Conf config.Conf
	// Topology is the system topology, see topology.System.
	Topology *storm.StormTopology
	// Jar is what the topology's JAR holds, nil if there is none. A *zip.Reader is one.
	Jar fs.FS
}

// Plan says where each component runs, those of the system included.
type Plan struct{ Components map[string]Choice }

// Choice is where one component runs and why.
type Choice struct {
	Engine Engine
	Kind   Kind
	Reason string
	// Child is the process that stands behind a component of kind Shell or Linked, nil for others.
	Child *Child
}

// Engines is the plan in the form that Nimbus keeps in the topology's conf: the components that run on Go. It is nil if none does.
func (p Plan) Engines() map[string]any {
	var out map[string]any
	for id, c := range p.Components {
		if c.Engine != Go {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[id] = string(Go)
	}
	return out
}

// setting is a value of gust.topology.worker.engine.
type setting string

const settingAuto setting = "auto"

// settingOf reads the key, whose absence means auto.
func settingOf(conf config.Conf) (setting, error) {
	s := setting(conf.String(config.GustTopologyWorkerEngine, string(settingAuto)))
	switch s {
	case settingAuto, setting(Go), setting(Java):
		return s, nil
	default:
		return "", invalid("%s is %q, but it must be auto, java or go", config.GustTopologyWorkerEngine, s)
	}
}

func invalid(format string, args ...any) error {
	return &storm.InvalidTopologyException{Msg: fmt.Sprintf(format, args...)}
}
