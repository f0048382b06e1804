// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file decides whether a slot gets a Java worker or a Go worker, and what the Go worker's program is.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/supervisor/localizer"
	"github.com/gust-stream/gust/thrift/storm"
	topo "github.com/gust-stream/gust/topology"
)

// onGo is the value of a component in gust.topology.engines.
const onGo = "go"

// program gives what the worker of an assignment is run from, "" for a Java worker. Nimbus decides for each component and
// gives no slot two kinds of them; one that has both could be run by nobody.
func (c Config) program(t *localizer.Topology, a *storm.LocalAssignment) (string, error) {
	engines := t.Conf.Map(config.GustTopologyEngines)
	if len(engines) == 0 {
		return "", nil
	}
	tasks, err := tasksOf(t)
	if err != nil {
		return "", fmt.Errorf("engine of topology %s: %w", t.ID, err)
	}
	var java, golang string
	for _, e := range a.Executors {
		if e.TaskStart < 1 || int(e.TaskStart) > len(tasks) {
			return "", fmt.Errorf("engine of topology %s: its assignment names task %d of %d", t.ID, e.TaskStart, len(tasks))
		}
		component := tasks[e.TaskStart-1]
		if engines[component] == onGo {
			golang = component
		} else {
			java = component
		}
	}
	switch {
	case golang == "":
		return "", nil
	case java != "":
		return "", fmt.Errorf("a worker of topology %s would need two engines: %s runs on Java, %s on Go", t.ID, java, golang)
	}
	return c.goProgram(t)
}

// goProgram is the topology's own program if it has one, and else this one.
func (c Config) goProgram(t *localizer.Topology) (string, error) {
	name := t.Conf.String(config.GustTopologyGoBinary, "")
	if name == "" {
		return c.GoWorker, nil
	}
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("%s of topology %s: %q leads out of its resources", config.GustTopologyGoBinary, t.ID, name)
	}
	dir := filepath.Join(t.Dir, localstate.Resources)
	if err := makeExecutable(dir, name); err != nil {
		return "", fmt.Errorf("%s of topology %s: %w", config.GustTopologyGoBinary, t.ID, err)
	}
	return filepath.Join(dir, name), nil
}

// makeExecutable makes a file below a folder a program: not every tool that packs a JAR keeps that bit. A link that leads out of the folder is an
// error, since a worker of before may have put it there.
func makeExecutable(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only looked into
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file", name)
	case info.Mode()&0o111 == 0:
		return root.Chmod(name, 0o755)
	}
	return nil
}

// tasksOf reads which component each task of a topology belongs to.
func tasksOf(t *localizer.Topology) (topo.Tasks, error) {
	user, err := localstate.ReadCode(context.Background(), t.Dir)
	if err != nil {
		return nil, err
	}
	system, err := topo.System(t.Conf, user)
	if err != nil {
		return nil, err
	}
	return topo.TasksOf(system)
}
