// SPDX-License-Identifier: Apache-2.0

// This file holds the flags that all commands share and what is read because of them: the conf, the Storm home, a
// connection to Nimbus.

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/rpc"
)

// referenceStorm is the Storm release that gust is compared with, and the one that make lays out.
const referenceStorm = config.TableVersion

// settings are the flags that say where the conf comes from.
type settings struct {
	stormHome string
	confFile  string
	options   []string
	json      bool
}

func (s *settings) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.stormHome, "storm-home", "", "folder of a Storm home (default $STORM_HOME, else the one beside this binary)")
	flags.StringVar(&s.confFile, "config", "", "file to read in place of storm.yaml")
	flags.StringArrayVarP(&s.options, "conf", "c", nil, "a key=value over what the files say; may be repeated")
}

func (s *settings) registerJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.json, "json", false, "print JSON")
}

// load reads the conf.
func (s *settings) load() (config.Conf, config.Sources, error) {
	overrides, err := config.ParseOverrides(s.options)
	if err != nil {
		return nil, config.Sources{}, usageError{err}
	}
	home, err := s.home(overrides)
	if err != nil {
		return nil, config.Sources{}, err
	}
	conf, sources, err := config.Load(config.Options{StormHome: home, ConfFile: s.confFile, Overrides: overrides, Env: os.Getenv})
	if err != nil {
		return nil, sources, fmt.Errorf("read the conf: %w", err)
	}
	return conf, sources, nil
}

// home finds the Storm home: the flag, storm.home on the command line, the environment, storm.home in the conf's file, or the
// folder that make lays out beside the binary. None is no error here, since not every command needs one.
func (s *settings) home(overrides config.Conf) (string, error) {
	named := cmp.Or(s.stormHome, overrides.String(config.StormHome, ""), os.Getenv("STORM_HOME"))
	if named == "" {
		// A file outside of any home: the one that is named, or the one in the folder that is named.
		conf, _, err := config.Load(config.Options{ConfFile: s.confFile, Env: os.Getenv})
		if err != nil {
			return "", fmt.Errorf("read the conf: %w", err)
		}
		named = conf.String(config.StormHome, "")
	}
	if named != "" {
		if info, err := os.Stat(named); err != nil || !info.IsDir() {
			return "", fmt.Errorf("storm home %s is no folder", named)
		}
		return filepath.Abs(named)
	}
	binary, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the Storm home beside the binary: %w", err)
	}
	if resolved, err := filepath.EvalSymlinks(binary); err == nil {
		binary = resolved
	}
	base := filepath.Dir(filepath.Dir(binary))
	for _, dir := range []string{filepath.Join(base, "storm-home"), filepath.Join(base, "build", "storm-home", referenceStorm)} {
		if info, err := os.Stat(filepath.Join(dir, "lib-worker")); err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return "", nil
}

// needHome refuses to go on without a Storm home that has Storm in it, and says how to get one.
func needHome(sources config.Sources) error {
	if sources.StormHome != "" {
		if _, err := config.ClientJar(sources.StormHome); err != nil {
			return fmt.Errorf("%s is no Storm home: %w", sources.StormHome, err)
		}
		return nil
	}
	return fmt.Errorf("no Storm home: name one by --storm-home or STORM_HOME, or lay one out with scripts/storm-home %s DIR", referenceStorm)
}

// lookForJava says what keeps Java workers from starting here, "" if nothing does; Go workers need none of it. A Storm home that is
// named has to be one.
func lookForJava(sources config.Sources) (obstacle string, err error) {
	err = needHome(sources)
	switch {
	case err != nil && sources.StormHome != "":
		return "", err
	case err == nil:
		if _, err = exec.LookPath(javaCommand()); err != nil {
			err = fmt.Errorf("no Java, a JDK or JRE of version 11 or newer (JAVA_HOME or PATH): %w", err)
		}
	}
	if err != nil {
		return "only components that run on Go workers can run here: " + err.Error(), nil //nolint:nilerr // a warning is made of it
	}
	return "", nil
}

// nimbus connects to the leading Nimbus.
func (s *settings) nimbus(ctx context.Context) (*leader.Nimbus, error) {
	conf, _, err := s.load()
	if err != nil {
		return nil, err
	}
	return dialNimbus(ctx, conf)
}

// ask runs do with a connection to the leading Nimbus, and puts the text of an exception of its in place of the generated one.
func (s *settings) ask(ctx context.Context, do func(*leader.Nimbus) error) error {
	nimbus, err := s.nimbus(ctx)
	if err != nil {
		return err
	}
	defer hangUp(nimbus)
	return explain(do(nimbus))
}

// hangUp ends a connection to Nimbus; all answers have been read, so nothing is lost by an error.
func hangUp(nimbus *leader.Nimbus) { _ = nimbus.Close() }

func dialNimbus(ctx context.Context, conf config.Conf) (*leader.Nimbus, error) {
	nimbus, err := leader.Dial(ctx, leader.Config{
		Seeds: conf.Strings(config.NimbusSeeds),
		Port:  int(conf.Int(config.NimbusThriftPort, 6627)),
		RPC: rpc.ClientConfig{
			MaxFrame:       int(conf.Int(config.NimbusThriftMaxBufferSize, rpc.DefaultMaxFrame)),
			ConnectTimeout: 10 * time.Second,
			CallTimeout:    time.Minute,
		},
	})
	if errors.Is(err, leader.ErrNone) && ctx.Err() == nil {
		err = fmt.Errorf("%w\nnimbus.seeds and nimbus.thrift.port, in storm.yaml or by -c, say where it is; for a gust dev --dir DIR, STORM_CONF_DIR=DIR/conf does", err)
	}
	return nimbus, err
}

// printJSON writes a value as indented JSON.
func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
