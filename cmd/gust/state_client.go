// SPDX-License-Identifier: Apache-2.0

// This file speaks with the state server of this machine.

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/server"
	"github.com/gust-stream/gust/stateapi/wire"
)

// stateSettings say which state server is meant.
type stateSettings struct {
	settings
	dir, socket string
}

func (s *stateSettings) register(cmd *cobra.Command) {
	s.settings.register(cmd)
	s.registerJSON(cmd)
	cmd.Flags().StringVar(&s.dir, "dir", "", "folder of a gust state serve")
	cmd.Flags().StringVar(&s.socket, "socket", "", "path of the state server's socket (default where the conf's supervisor has it)")
}

// path is where the socket is.
func (s *stateSettings) path() (string, error) {
	switch {
	case s.socket != "":
		return s.socket, nil
	case s.dir != "":
		return filepath.Join(s.dir, server.SocketName), nil
	}
	conf, sources, err := s.load()
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(filepath.Join(config.LocalDir(conf, sources.StormHome), "state"))
	if err != nil {
		return "", fmt.Errorf("find the state server: %w", err)
	}
	return server.MachineConfig{Dir: dir, Memory: conf.String(config.GustStateDir, "")}.SocketPath(), nil
}

// stateClient is a connection to a state server.
type stateClient struct {
	conn net.Conn
	in   *wire.Reader
	out  wire.Builder
	next uint32
}

// with connects, has do ask, and closes.
func (s *stateSettings) with(ctx context.Context, do func(*stateClient) error) error {
	path, err := s.path()
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("no state server at %s: is its supervisor up, and are you its user or root? (--socket names another): %w", path, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // which ends what is asked
	defer stop()
	c := &stateClient{conn: conn, in: wire.NewReader(conn)}
	_, err = c.ask(wire.Hello, func(b *wire.Builder) {
		b.U32(wire.Magic)
		b.U16(wire.Version)
	})
	if err == nil {
		err = do(c)
	}
	if closing := conn.Close(); ctx.Err() == nil {
		err = errors.Join(err, closing)
	}
	return err
}

// ask asks for something; the answer's fields are valid until the next call.
func (c *stateClient) ask(kind wire.Type, body func(b *wire.Builder)) (*wire.Fields, error) {
	c.next++
	c.out.Begin(kind, c.next)
	if body != nil {
		body(&c.out)
	}
	frame, err := c.out.Frame()
	if err != nil {
		return nil, err
	}
	if _, err := c.conn.Write(frame); err != nil {
		return nil, fmt.Errorf("ask the state server: %w", err)
	}
	answer, err := c.in.Next()
	switch {
	case err != nil:
		return nil, fmt.Errorf("answer of the state server: %w", err)
	case answer.Type == wire.Error:
		return nil, wire.ReadError(wire.NewFields(answer.Body))
	case answer.Type != kind+wire.Answer:
		return nil, fmt.Errorf("answer of the state server: type %d: %w", answer.Type, wire.ErrMalformed)
	}
	return wire.NewFields(answer.Body), nil
}

// stateFilter picks states.
type stateFilter struct {
	topology, owner, component string
	task                       int32 // -1: all
}

func (f *stateFilter) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.owner, "owner", "", "user who submitted the topology (default any)")
	cmd.Flags().StringVar(&f.component, "component", "", "one component (default all)")
	cmd.Flags().Int32Var(&f.task, "task", -1, "one task (default all)")
}

func (f *stateFilter) picks(n stateapi.Name) bool {
	return (f.topology == "" || f.topology == n.Topology) && (f.owner == "" || f.owner == n.Owner) &&
		(f.component == "" || f.component == n.Component) && (f.task < 0 || f.task == n.Task)
}

// list asks for all states that a filter picks.
func (c *stateClient) list(filter stateFilter) ([]wire.Info, error) {
	f, err := c.ask(wire.List, nil)
	if err != nil {
		return nil, err
	}
	infos := []wire.Info{}
	for range f.U32() {
		info := wire.ReadInfo(f)
		if f.Err() != nil {
			break
		}
		if filter.picks(info.Name) {
			infos = append(infos, info)
		}
	}
	return infos, f.End()
}
