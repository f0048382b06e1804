// SPDX-License-Identifier: Apache-2.0

// Command gust runs Apache Storm topologies without Apache Storm's daemons.
//
// It is the only place that knows all parts: each file here is one subcommand, which reads the conf, builds the parts and
// starts them. Called as "storm" (a link to the same binary), it takes the command line of Storm's own client.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/spf13/cobra"
)

func main() { os.Exit(execute(os.Args)) }

// execute runs a command line and returns the exit status: 0 done, 1 it went wrong, 2 wrong usage; "storm jar" returns
// the status of the topology's main class.
func execute(args []string) int {
	thrift.ServerConnectivityCheckInterval = 0 // rpc.Server has its own watch on dead peers; this one costs a ticker a call
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	go func() { // after the first signal a second one ends the process at once
		<-ctx.Done()
		stop()
	}()
	root := newGust()
	if filepath.Base(args[0]) == "storm" {
		root = newStorm()
	}
	root.SetArgs(args[1:])
	err := root.ExecuteContext(ctx)
	var exit *exec.ExitError
	var code exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1)
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", root.Name(), err)
	if _, wrong := errors.AsType[usageError](err); wrong {
		return 2
	}
	return 1
}

// exitError is the exit status of a command that has said why itself.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is a command line that makes no sense.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// usage makes the fault that a check of arguments finds a wrong usage, and shows how the command is called.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			if cmd.HasSubCommands() {
				return usagef("%w; %s --help lists the commands", err, cmd.CommandPath())
			}
			return usagef("%w; usage: %s", err, cmd.UseLine())
		}
		return nil
	}
}

// newGust is the command tree of "gust".
func newGust() *cobra.Command {
	root := &cobra.Command{
		Use:   "gust",
		Short: "Apache Storm without Apache Storm's daemons",
		Long: "gust replaces Storm's Nimbus and Supervisor, and ZooKeeper where you want it to, and runs Storm's JARs unchanged on stock\n" +
			"Java workers, and components in Python, Go and the like on workers of its own, without Java. \"gust dev\" starts all of it on one\n" +
			"machine; \"storm\", a link to this binary, takes Storm's own client commands.",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	storm := newStorm()
	storm.Short = "Storm's client commands: jar, list, kill, ..."
	root.Args = usage(cobra.NoArgs)
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.AddCommand(newDev(), newDemo(), newSubmit(), newRun(), newExplain(), newNimbus(), newSupervisor(), newWorker(), newZookeeper(), newState(), newVersion(), storm)
	return root
}

// newStorm is the command tree of "storm".
func newStorm() *cobra.Command {
	root := &cobra.Command{
		Use:           "storm",
		Short:         "Submit and steer topologies on gust or on Apache Storm",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.Args = usage(cobra.NoArgs)
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.AddCommand(newJar(), newList(), newKill(), newActivate(), newDeactivate(), newRebalance(), newGetErrors(),
		newSetLogLevel(), newUploadCredentials(), newVersion(), newClasspath(), newConfValue())
	return root
}
