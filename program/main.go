// SPDX-License-Identifier: Apache-2.0

package program

// This file chooses what a topology's binary does.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gust-stream/gust/multilang/component"
)

// usage is what a binary says of itself; %[1]s is its name, %[2]s the topology's.
const usage = `%[1]s is the topology %[2]s. It does one of these:

  gust submit %[1]s        send it to a cluster
  %[1]s --run --for 30s    run it in this process, without --for until Ctrl-C
  %[1]s --describe         print the topology for whoever submits it
  %[1]s --component        be one of its components, as the child of a worker that speaks multilang
  %[1]s worker ARGS...     be a worker of it, as a supervisor starts them

`

// Main is the main function of a topology's binary. It ends the process with status 1 if what was asked for went wrong, 2 if it was
// not understood.
func Main(t *component.Topology) {
	err := run(t, os.Args[1:], os.Stdout, os.Stderr)
	var code exitError
	switch {
	case err == nil:
	case errors.As(err, &code):
		os.Exit(int(code))
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", t.Name(), err)
		os.Exit(1)
	}
}

// errUsage says that the arguments were not understood; what was wrong with them has been printed.
var errUsage = errors.New("bad arguments")

// mode is what the arguments ask for.
type mode struct {
	describe, component, run bool
	length                   time.Duration
}

func run(t *component.Topology, args []string, out, errs io.Writer) error {
	if len(args) > 0 && args[0] == "worker" {
		return work(t, args[1:])
	}
	var m mode
	flags := flag.NewFlagSet(t.Name(), flag.ContinueOnError)
	flags.SetOutput(errs)
	help := func(to io.Writer) { fmt.Fprintf(to, usage, os.Args[0], t.Name()) }
	flags.Usage = func() {} // it would print for --help too, beside the output
	flags.BoolVar(&m.describe, "describe", false, "")
	flags.BoolVar(&m.component, "component", false, "")
	flags.BoolVar(&m.run, "run", false, "")
	flags.DurationVar(&m.length, "for", 0, "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		help(out)
		return nil
	case err != nil:
		help(errs)
		return errUsage
	}
	switch {
	case flags.NArg() > 0:
		fmt.Fprintf(errs, "not understood: %q\n", flags.Args())
	case m.length < 0 || m.length > 0 && !m.run:
		fmt.Fprintln(errs, "--for says how long --run takes")
	case m.describe:
		return describe(t, out)
	case m.component:
		return component.Main(func(ctx context.Context, p component.Pipes) error { return component.ServeAny(ctx, t, p) })
	case m.run:
		return runHere(t, m.length, out, errs)
	}
	help(errs)
	return errUsage
}
