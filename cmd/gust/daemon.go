// SPDX-License-Identifier: Apache-2.0

// This file holds what all daemons share: the logger, the flags, the connection to the cluster state.

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/internal/footprint"
)

// daemonSettings are the flags of a daemon.
type daemonSettings struct {
	settings
	bind  string
	level string
}

func (d *daemonSettings) register(cmd *cobra.Command, bind string) {
	d.settings.register(cmd)
	cmd.Flags().StringVar(&d.bind, "bind", bind, "address that listeners bind to; empty is every address of this machine")
	cmd.Flags().StringVar(&d.level, "log-level", "info", "debug, info, warn or error")
}

// load reads the conf. A file of --config that the working directory has is that one: Storm's own commands look into the conf folder
// first, where nearly always there is a storm.yaml too, and a daemon would run on other ports and in another folder than its user wrote.
func (d *daemonSettings) load() (config.Conf, config.Sources, error) {
	if _, err := os.Stat(d.confFile); d.confFile != "" && err == nil {
		if d.confFile, err = filepath.Abs(d.confFile); err != nil {
			return nil, config.Sources{}, fmt.Errorf("read the conf: %w", err)
		}
	}
	return d.settings.load()
}

// start reads and checks the conf and makes the logger.
func (d *daemonSettings) start() (config.Conf, config.Sources, *zap.Logger, error) {
	log, err := newLogger(d.level)
	if err != nil {
		return nil, config.Sources{}, nil, err
	}
	conf, sources, err := d.load()
	if err != nil {
		return nil, sources, nil, err
	}
	if err := validate(conf); err != nil {
		return nil, sources, nil, err
	}
	warn(log, sources)
	return conf, sources, log, nil
}

// warn tells of what is odd in a conf, once.
func warn(log *zap.Logger, sources config.Sources) {
	for _, warning := range sources.Warnings {
		log.Warn("conf", zap.String("warning", warning))
	}
}

// validate names every fault of a daemon's conf, class names that gust does not know among them.
func validate(conf config.Conf) error {
	if err := errors.Join(config.Validate(conf), config.ValidateClasses(conf)); err != nil {
		return fmt.Errorf("the conf has faults:\n%w", err)
	}
	return nil
}

// newLogger writes lines for people to standard error.
func newLogger(level string) (*zap.Logger, error) {
	parsed, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, usagef("--log-level takes debug, info, warn or error, not %q", level)
	}
	cfg := zap.NewProductionConfig()
	cfg.Level = zap.NewAtomicLevelAt(parsed)
	cfg.Encoding = "console"
	cfg.EncoderConfig.EncodeTime = zapcore.ISO8601TimeEncoder
	cfg.DisableCaller, cfg.DisableStacktrace = true, true
	cfg.Sampling = nil
	return cfg.Build()
}

// connectCluster opens a session with the ZooKeeper servers that the conf names, and does not give up while they do not answer or
// their names are not known: daemons may be started in any order.
func connectCluster(ctx context.Context, conf config.Conf, log *zap.Logger) (*cluster.State, error) {
	port := strconv.FormatInt(conf.Int(config.StormZookeeperPort, 2181), 10)
	var servers []string
	for _, host := range conf.Strings(config.StormZookeeperServers) {
		servers = append(servers, net.JoinHostPort(host, port))
	}
	cfg := cluster.Config{
		Servers:        servers,
		Root:           conf.String(config.StormZookeeperRoot, "/storm"),
		SessionTimeout: time.Duration(conf.Int(config.StormZookeeperSessionTimeout, 20_000)) * time.Millisecond,
		ConnectTimeout: time.Duration(conf.Int(config.StormZookeeperConnectionTimeout, 15_000)) * time.Millisecond,
		Scheme:         conf.String(config.StormZookeeperAuthScheme, ""),
		Auth:           []byte(conf.String(config.StormZookeeperAuthPayload, "")),
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		state, err := cluster.Connect(ctx, cfg, log.Named("cluster"))
		if _, unknown := errors.AsType[*net.DNSError](err); err == nil || ctx.Err() != nil || !unknown && !errors.Is(err, context.DeadlineExceeded) {
			return state, err
		}
		log.Warn("cluster state not reached, trying again", zap.Error(err))
		if err := clock.Wait(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// firstPause and lastPause frame the growing wait between two tries to reach the cluster state.
const (
	firstPause = time.Second
	lastPause  = 15 * time.Second
)

// told gives what a start that went wrong ends with: nothing where the daemon was told to stop meanwhile.
func told(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it was told to stop, which is no fault
	}
	return err
}

// quiet turns the end of a context, which is how a daemon is told to stop, into success.
func quiet(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// settleAfter is when a daemon has long started, in a normal start.
const settleAfter = 5 * time.Second

// settled runs a daemon, and after a while gives back the memory that only its start needed.
func settled(ctx context.Context, log *zap.Logger, daemon func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { settle(ctx, log) })
	err := daemon(ctx)
	cancel()
	beside.Wait()
	return err
}

func settle(ctx context.Context, log *zap.Logger) {
	if clock.Wait(ctx, settleAfter) != nil {
		return
	}
	if err := footprint.Shrink(); err != nil {
		log.Debug("memory of the start is kept", zap.Error(err))
	}
}
