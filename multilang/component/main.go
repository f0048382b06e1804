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
	in, out, err := claim()
	if err != nil {
		return fmt.Errorf("take over stdin and stdout: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return errors.Join(serve(ctx, Pipes{In: in, Out: out}), out.Close())
}

// claim moves stdin and stdout to descriptors that nobody else knows.
func claim() (in, out *os.File, err error) {
	if in, err = move(unix.Stdin, "stdin of the protocol"); err != nil {
		return nil, nil, err
	}
	if out, err = move(unix.Stdout, "stdout of the protocol"); err != nil {
		return nil, nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.Dup3(int(null.Fd()), unix.Stdin, 0); err != nil {
		return nil, nil, os.NewSyscallError("dup", err)
	}
	if err := unix.Dup3(unix.Stderr, unix.Stdout, 0); err != nil {
		return nil, nil, os.NewSyscallError("dup", err)
	}
	return in, out, null.Close()
}

// move gives a file of its own to a descriptor. The end of a pipe does not block, so that closing it ends a read: it is this
// process's alone, where other files may be shared with other processes.
func move(fd int, name string) (*os.File, error) {
	moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	var info unix.Stat_t
	if err := unix.Fstat(moved, &info); err == nil && info.Mode&unix.S_IFMT == unix.S_IFIFO {
		if err := unix.SetNonblock(moved, true); err != nil {
			return nil, os.NewSyscallError("fcntl", err)
		}
	}
	return os.NewFile(uintptr(moved), name), nil
}
