// SPDX-License-Identifier: Apache-2.0

package component

// This file is the main function of a program that is one component.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// MainBolt is the main function of a program that is one bolt. It ends the process with status 1 if the bolt could not be prepared
// or panicked, or if the parent broke the protocol.
func MainBolt(b Bolt) { exit(func(ctx context.Context, p Pipes) error { return ServeBolt(ctx, b, p) }) }

// MainSpout is MainBolt for a spout.
func MainSpout(s Spout) {
	exit(func(ctx context.Context, p Pipes) error { return ServeSpout(ctx, s, p) })
}

func exit(serve func(ctx context.Context, p Pipes) error) {
	if err := Main(serve); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Main serves over the process's stdin and stdout, until the parent closes its end or the process is told to end. Meanwhile whatever
// else writes to stdout, a print of the component or a program that it starts, writes to stderr, and stdin is empty.
func Main(serve func(ctx context.Context, p Pipes) error) error {
	pipes, err := claim()
	if err != nil {
		return fmt.Errorf("take over stdin and stdout: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return errors.Join(serve(ctx, pipes), pipes.Out.(*os.File).Close())
}

// claim moves stdin and stdout to descriptors that nobody else knows.
func claim() (Pipes, error) {
	in, err := move(unix.Stdin)
	if err != nil {
		return Pipes{}, err
	}
	out, err := move(unix.Stdout)
	if err != nil {
		return Pipes{}, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return Pipes{}, err
	}
	if err := unix.Dup3(int(null.Fd()), unix.Stdin, 0); err != nil {
		return Pipes{}, err
	}
	if err := unix.Dup3(unix.Stderr, unix.Stdout, 0); err != nil {
		return Pipes{}, err
	}
	var info unix.Stat_t
	if err := unix.Fstat(in, &info); err == nil && info.Mode&unix.S_IFMT == unix.S_IFIFO {
		// So that closing it ends a read. The end of a pipe is this process's alone; other files may be shared with other processes.
		if err := unix.SetNonblock(in, true); err != nil {
			return Pipes{}, err
		}
	}
	return Pipes{In: os.NewFile(uintptr(in), "stdin of the protocol"), Out: os.NewFile(uintptr(out), "stdout of the protocol")}, null.Close()
}

func move(fd int) (int, error) {
	moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return 0, os.NewSyscallError("dup", err)
	}
	return moved, nil
}
