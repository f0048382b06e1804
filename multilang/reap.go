// SPDX-License-Identifier: Apache-2.0

package multilang

// This file ends a child and all that came of it, and leaves no zombie.

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killLimit bounds how long is waited for killed processes to be gone; one in the middle of a disk's trouble may take longer.
	killLimit = 2 * time.Second
	killLook  = 2 * time.Millisecond
)

// await waits for the end and leaves the child unreaped: as long as it is there, nobody else can have its process group's number.
func (p *process) await() {
	defer close(p.exited)
	if p.awaitPolled() != nil {
		for errors.Is(unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) { // takes a thread
		}
	}
}

// awaitPolled waits among all else that the runtime waits for.
func (p *process) awaitPolled() error {
	fd, err := unix.PidfdOpen(p.pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), "child")
	defer func() { _ = file.Close() }()
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Read(func(uintptr) bool {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, p.pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		return err != nil || info.Signo != 0
	})
}

// end asks the child to end, waits, kills what is left of it and of what it started, and reaps it. It gives how the child ended.
func (p *process) end(wait time.Duration) string {
	select {
	case <-p.exited:
	default:
		p.signal(syscall.SIGTERM)
		p.signal(syscall.SIGCONT) // one that is stopped would not see it
		timer := time.NewTimer(wait)
		select {
		case <-p.exited:
		case <-timer.C:
		}
		timer.Stop()
	}
	others := p.killAll()
	<-p.exited
	_ = p.cmd.Wait() // how it ended is in the state
	p.reap(others)
	return exitText(p.cmd.ProcessState)
}

func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.pid, s) }

// killAll kills the group and those that left it, and looks until none is alive, since a process may start others meanwhile. It looks
// twice: one that is just becoming another program has no environment to be known by. It gives those that had left the group.
func (p *process) killAll() []int {
	p.signal(syscall.SIGKILL)
	killed := map[int]bool{}
	tick := time.NewTicker(killLook)
	defer tick.Stop()
	none := 0
	for until := time.Now().Add(killLimit); none < 2 && time.Now().Before(until); <-tick.C {
		none++
		for _, pid := range p.relatives() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			killed[pid] = true
			none = 0
		}
		for pid := range killed { // one that is ending has lost its environment already
			if stat, ok := readStat(pid); ok && stat.alive() {
				none = 0
			}
		}
	}
	return slices.Collect(maps.Keys(killed))
}

// relatives are processes of the child's that are alive, the child itself not counted.
func (p *process) relatives() []int {
	var found []int
	for pid, stat := range processes() {
		if pid == p.pid || pid == os.Getpid() || !stat.alive() {
			continue
		}
		if stat.group == p.pid || stat.session == p.pid || p.marked(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// processes reads the machine's processes.
func processes() iter.Seq2[int, stat] {
	return func(yield func(int, stat) bool) {
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return
		}
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			if stat, ok := readStat(pid); ok && !yield(pid, stat) {
				return
			}
		}
	}
}

// marked looks for the mark in a process's environment.
func (p *process) marked(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && strings.Contains("\x00"+string(env), "\x00"+markVariable+"="+p.mark+"\x00")
}

type stat struct {
	state          byte
	parent         int
	group, session int
}

func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' }

// readStat reads a process's line; its name may hold anything, so it is read from behind that.
func readStat(pid int) (stat, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	rest := string(text[strings.LastIndexByte(string(text), ')')+1:])
	fields := strings.Fields(rest)
	if len(fields) < 4 {
		return stat{}, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	group, err2 := strconv.Atoi(fields[2])
	session, err3 := strconv.Atoi(fields[3])
	return stat{fields[0][0], parent, group, session}, err1 == nil && err2 == nil && err3 == nil
}

// adoptOrphans makes this process the parent of what its children leave behind, so that those leave no zombie.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of children's orphans: %w", err)
	}
	return nil
}

// reap buries the group and others that were killed. Orphans are ours, since we adopt them.
func (p *process) reap(others []int) {
	for wait4(-p.pid) {
	}
	for _, pid := range others {
		wait4(pid)
	}
}

// wait4 buries one zombie and says whether it did.
func wait4(pid int) bool {
	for {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if !errors.Is(err, syscall.EINTR) {
			return err == nil && got > 0
		}
	}
}

// sweeper buries orphans that end while their child lives on. Whatever else starts processes here waits for them at once, so only
// zombies that stayed for two sweeps are taken.
type sweeper struct{ seen map[int]bool }

func (s *sweeper) sweep() {
	now := map[int]bool{}
	for pid, stat := range processes() {
		if stat.state != 'Z' || stat.parent != os.Getpid() {
			continue
		}
		if s.seen[pid] {
			wait4(pid)
			continue
		}
		now[pid] = true
	}
	s.seen = now
}

// memory is the memory of the child and its relatives in bytes, shared pages counted in part.
func (p *process) memory() int64 {
	total := memoryOf(p.pid)
	for _, pid := range p.relatives() {
		total += memoryOf(pid)
	}
	return total
}

func memoryOf(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb << 10
		}
	}
	return 0
}

func exitText(state *os.ProcessState) string {
	if state == nil {
		return "its end is unknown"
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("killed by signal %d, %s", status.Signal(), status.Signal())
	}
	return fmt.Sprintf("exit code %d", state.ExitCode())
}
