// SPDX-License-Identifier: Apache-2.0

// This file reads topologies from where people keep them: a YAML file, or a binary that describes itself.

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/spf13/cobra"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology/flux"
)

// describeTime is how long a binary may take to describe its topology.
const describeTime = 30 * time.Second

// source says which topology is meant and how it is read.
type source struct {
	file      string
	name      string
	resources string
	filter    string
	envFilter bool
}

func (s *source) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.name, "name", "", "name of the topology (default the one that the file says)")
	flags.StringVar(&s.resources, "resources", "", "folder with the scripts of the components (default \"resources\" beside the file, if there is one)")
	flags.StringVarP(&s.filter, "filter", "f", "", "file of properties that replace ${name} in the YAML file")
	flags.BoolVarP(&s.envFilter, "env-filter", "e", false, "replace ${ENV-name} in the YAML file by environment variables")
}

// described is a topology that was read, with what belongs into its JAR.
type described struct {
	name     string
	conf     config.Conf
	topology *storm.StormTopology
	warnings []string
	// dir is the folder of resources, "" if there is none; files lie beside its content, binary is one more.
	dir    string
	files  map[string]string
	binary string
}

// isYAML says whether a file is read as YAML, by its name.
func isYAML(file string) bool {
	ext := strings.ToLower(filepath.Ext(file))
	return ext == ".yaml" || ext == ".yml"
}

// read reads the topology. conf is what the command line says over the topology's own.
func (s *source) read(ctx context.Context, conf config.Conf) (*described, error) {
	info, err := os.Stat(s.file)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("topology: %s is no file", s.file)
	}
	var d *described
	switch {
	case isYAML(s.file):
		d, err = s.readYAML()
	case info.Mode()&0o111 != 0:
		d, err = readBinary(ctx, s.file)
	default:
		return nil, fmt.Errorf("topology: %s is neither a .yaml file nor a program; \"storm jar\" submits a JAR", s.file)
	}
	if err != nil {
		return nil, err
	}
	d.conf = config.Merge(d.conf, conf)
	if s.name != "" {
		d.name = s.name
	}
	if d.name == "" {
		return nil, usagef("%s gives the topology no name: name it by --name", s.file)
	}
	d.dir = s.resources
	if beside := filepath.Join(filepath.Dir(s.file), "resources"); d.dir == "" && isYAML(s.file) && isDir(beside) {
		d.dir = beside
	}
	if d.dir != "" && !isDir(d.dir) {
		return nil, fmt.Errorf("resources: %s is no folder", d.dir)
	}
	return d, nil
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func (s *source) readYAML() (*described, error) {
	data, err := os.ReadFile(s.file)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	options := flux.Options{Include: s.include}
	if s.filter != "" {
		text, err := os.ReadFile(s.filter)
		if err != nil {
			return nil, fmt.Errorf("properties: %w", err)
		}
		if options.Properties, err = flux.ParseProperties(text); err != nil {
			return nil, fmt.Errorf("%s: %w", s.filter, err)
		}
	}
	if s.envFilter {
		options.Env = os.LookupEnv
	}
	t, err := flux.Load(s.file, data, options)
	if err != nil {
		return nil, err
	}
	return &described{name: t.Name, conf: t.Conf, topology: t.Storm, warnings: t.Warnings}, nil
}

// include reads a file that the YAML file includes: as it is named, or beside the YAML file. Resources lie in the folder of resources.
func (s *source) include(name string, resource bool) ([]byte, error) {
	dir := filepath.Dir(s.file)
	if resource {
		name = strings.TrimLeft(name, "/")
		if s.resources != "" {
			dir = s.resources
		}
	} else if data, err := os.ReadFile(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	return os.ReadFile(filepath.Join(dir, name))
}

// readBinary lets a topology's own binary describe it.
func readBinary(ctx context.Context, file string) (*described, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--describe")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %v", describeTime)
		}
		return nil, fmt.Errorf("%s --describe: %w%s", file, unexited(err), lastLines(said.String()))
	}
	var answer struct {
		Name     string            `json:"name"`
		Conf     json.RawMessage   `json:"conf"`
		Topology string            `json:"topology"`
		Files    map[string]string `json:"files"`
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return nil, fmt.Errorf("%s --describe: it prints no topology: %w", file, err)
	}
	d := &described{name: answer.Name, conf: config.Conf{}, topology: storm.NewStormTopology(), files: answer.Files, binary: path}
	if len(answer.Conf) > 0 {
		if d.conf, err = config.ParseJSON(answer.Conf); err != nil {
			return nil, fmt.Errorf("%s --describe: %w", file, err)
		}
	}
	code, err := base64.StdEncoding.DecodeString(answer.Topology)
	if err != nil {
		return nil, fmt.Errorf("%s --describe: topology: %w", file, err)
	}
	if err := thrift.NewTDeserializer().Read(ctx, d.topology, code); err != nil {
		return nil, fmt.Errorf("%s --describe: topology: %w", file, err)
	}
	return d, nil
}

// unexited takes the status out of an error's chain: it is the child's, not ours.
func unexited(err error) error { return errors.New(err.Error()) }

// lastLines is what a program said at its end, below the message.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > 5 {
		lines = lines[len(lines)-5:]
	}
	if text = strings.Join(lines, "\n"); text == "" {
		return ""
	}
	return "\n" + text
}
