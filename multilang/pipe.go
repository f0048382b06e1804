// SPDX-License-Identifier: Apache-2.0

package multilang

// This file reads and writes pipes without telling the scheduler. The pipes never block, so it need not know; telling it, it wakes its
// monitor's thread, each time that a child's message comes to an idle worker, which costs the child more than all else does.

import (
	"io"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// pipeReader reads from a pipe of ours.
type pipeReader struct {
	conn  syscall.RawConn
	vigil *vigil
}

func newPipeReader(f *os.File, v *vigil) (io.Reader, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &pipeReader{conn, v}, nil
}

func (r *pipeReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	var n int
	var errno syscall.Errno
	watching := r.vigil.begin()
	err := r.conn.Read(func(fd uintptr) bool {
		n, errno = raw(syscall.SYS_READ, fd, p)
		if watching {
			watching = false
			for began := time.Now(); errno == syscall.EAGAIN && time.Since(began) < vigilTime; {
				n, errno = raw(syscall.SYS_READ, fd, p)
			}
			r.vigil.end(errno != syscall.EAGAIN)
		}
		return errno != syscall.EAGAIN
	})
	if watching { // the pipe is closed
		r.vigil.end(false)
	}
	switch {
	case err != nil:
		return 0, err
	case errno != 0:
		return 0, os.NewSyscallError("read", errno)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// tryWrite writes what the pipe takes now.
func tryWrite(conn syscall.RawConn, p []byte) int {
	if len(p) == 0 {
		return 0
	}
	n := 0
	err := conn.Write(func(fd uintptr) bool {
		n, _ = raw(syscall.SYS_WRITE, fd, p)
		return true
	})
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// raw makes a system call that does not block.
func raw(call, fd uintptr, p []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		switch errno {
		case syscall.EINTR:
		case 0:
			return int(n), 0
		default:
			return 0, errno
		}
	}
}
