// SPDX-License-Identifier: Apache-2.0

// This file makes the conf of a "gust dev": what the user says, completed for one machine, written down for workers.

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/lock"
)

// prepareDev reads the conf and fills in what one machine implies. All that is not a default will be in dir/conf/storm.yaml:
// workers read it there, and so does "storm" when STORM_CONF_DIR names that folder.
func prepareDev(d *daemonSettings, dir string) (config.Conf, config.Sources, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, config.Sources{}, err
	}
	conf, sources, err := d.load()
	if err != nil {
		return nil, sources, err
	}
	obstacle, err := lookForJava(sources)
	if err != nil {
		return nil, sources, err
	}
	if obstacle != "" {
		sources.Warnings = append(sources.Warnings, obstacle)
	}
	completeDev(conf, sources, dir, d.confFile != "")
	if err := validate(conf); err != nil {
		return nil, sources, err
	}
	if err := onlyHere(conf.Strings(config.StormZookeeperServers)); err != nil {
		return nil, sources, err
	}
	sources.ConfDir = filepath.Join(dir, "conf")
	return conf, sources, nil
}

// lockDir makes dir the caller's alone until the returned lock is released: a second gust dev must not change the conf of one
// that runs.
func lockDir(dir string) (*lock.Lock, error) {
	if dir == "" {
		return nil, usagef("gust dev needs --dir, a folder for all that it writes")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of gust dev: %w", err)
	}
	l, err := lock.Try(dir)
	if busy, ok := errors.AsType[*lock.BusyError](err); ok {
		return nil, fmt.Errorf("%s is in use by another gust dev, process %d", dir, busy.PID)
	}
	return l, err
}

// completeDev sets, where the user has not, what all daemons on this one machine imply. The folders of the daemons are below
// dir unless the command line or the file of --config names others: a storm.yaml that was merely found (of another gust dev,
// by STORM_CONF_DIR) must not lead into somebody else's folders.
func completeDev(conf config.Conf, sources config.Sources, dir string, fileNamed bool) {
	for _, key := range []string{config.StormLocalDir, config.StormLogDir} {
		if !fileNamed && sources.Of[key] != "override" {
			sources.Of[key] = ""
		}
	}
	for key, value := range map[string]any{
		config.StormLocalDir:         filepath.Join(dir, "local"),
		config.StormLogDir:           filepath.Join(dir, "logs"),
		config.StormLocalHostname:    "localhost",
		config.NimbusSeeds:           []any{"localhost"},
		config.StormZookeeperServers: []any{"localhost"},
	} {
		if ofHome(sources, key) {
			conf[key] = value
			sources.Of[key] = "dev"
		}
	}
}

// ofHome tells whether a value is the release's own: from the defaults or from the storm.yaml inside the Storm home.
func ofHome(sources config.Sources, key string) bool {
	from := sources.Of[key]
	return from == "" || from == "defaults" || from == filepath.Join(sources.StormHome, "conf", "storm.yaml")
}

// onlyHere refuses a cluster state on other machines, since dev brings its own.
func onlyHere(servers []string) error {
	for _, server := range servers {
		if ip := net.ParseIP(server); server != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return fmt.Errorf("storm.zookeeper.servers names %s, but gust dev runs the cluster state itself; use gust nimbus and gust supervisor "+
				"with servers of your own", server)
		}
	}
	return nil
}

// writeConf writes what differs from the defaults. It may hold passwords, so it is the owner's alone.
func writeConf(dir string, conf config.Conf, sources config.Sources) error {
	chosen := map[string]any{}
	for key, value := range conf {
		if from := sources.Of[key]; from != "" && from != "defaults" {
			chosen[key] = value
		}
	}
	chosen["storm.home"] = sources.StormHome
	text, err := yaml.Marshal(chosen)
	if err != nil {
		return fmt.Errorf("write the conf: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write the conf: %w", err)
	}
	fresh := filepath.Join(dir, "storm.yaml.new")
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write the conf: %w", err)
	}
	file, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the conf: %w", err)
	}
	_, err = fmt.Fprintf(file, "# Written by gust dev at each start.\n%s", text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write the conf: %w", err)
	}
	if err := os.Rename(fresh, filepath.Join(dir, "storm.yaml")); err != nil {
		return fmt.Errorf("write the conf: %w", err)
	}
	return nil
}
