// SPDX-License-Identifier: Apache-2.0

package multilang

// This file starts a child as the leader of a process group.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// markVariable is in the environment of a child and of all that it starts, which is how those are found that left its group.
const markVariable = "GUST_MULTILANG_CHILD"

// process is a child that runs.
type process struct {
	cmd    *exec.Cmd
	pid    int
	mark   string
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	exited chan struct{} // closed when it has ended, before it is reaped
}

// environment is the worker's own with the component's on top; PATH is appended to, as in Storm.
func environment(worker []string, own map[string]string, mark string) []string {
	env := make([]string, 0, len(worker)+len(own)+1)
	path := ""
	for _, entry := range worker {
		name, value, _ := strings.Cut(entry, "=")
		if name == "PATH" {
			path = value
			continue
		}
		if _, ok := own[name]; !ok && name != markVariable {
			env = append(env, entry)
		}
	}
	for name, value := range own {
		if name != "PATH" {
			env = append(env, name+"="+value)
		}
	}
	if more := own["PATH"]; more != "" {
		path = strings.TrimPrefix(path+":"+more, ":")
	}
	if path != "" {
		env = append(env, "PATH="+path)
	}
	return append(env, markVariable+"="+mark)
}

// lookPath finds a program on the child's PATH. A name with a slash is the child's own business, relative to its folder.
func lookPath(name string, env []string, dir string) (string, error) {
	if name == "" {
		return "", errors.New("the command is empty")
	}
	if strings.ContainsRune(name, '/') {
		if filepath.IsAbs(name) {
			return name, nil
		}
		return filepath.Join(dir, name), nil
	}
	path := ""
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		file := filepath.Join(folder, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: no such program in PATH=%s", name, path)
}

// start starts a command.
func start(command, env []string, dir, mark string) (*process, error) {
	if len(command) == 0 {
		return nil, errors.New("there is no command")
	}
	if dir != "" { // exec tells of a missing folder as if the program were missing
		if info, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("working directory: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("working directory %s: %w", dir, syscall.ENOTDIR)
		}
	}
	file, err := lookPath(command[0], env, dir)
	if err != nil {
		return nil, err
	}
	p, err := launch(file, command, env, dir, mark)
	if errors.Is(err, syscall.ENOEXEC) { // a script without a first line that names its interpreter is the shell's
		p, err = launch("/bin/sh", append([]string{"sh", file}, command[1:]...), env, dir, mark)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Stat(file); there == nil {
			return nil, fmt.Errorf("%w (the file is there: does its interpreter exist?)", err)
		}
	}
	return p, err
}

// pipes are the three of a child; the child's ends are closed once it has them.
type pipes struct{ ours, theirs [3]*os.File }

func openPipes() (*pipes, error) {
	p := &pipes{}
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, fmt.Errorf("make a pipe for a child: %w", err)
		}
		p.ours[i], p.theirs[i] = r, w
		if i == 0 {
			p.ours[i], p.theirs[i] = w, r
		}
	}
	return p, nil
}

func (p *pipes) close() {
	for i := range 3 {
		closeAll(p.ours[i], p.theirs[i])
	}
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func launch(file string, args, env []string, dir, mark string) (*process, error) {
	p, err := openPipes()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: file, Args: args, Env: env, Dir: dir, Stdin: p.theirs[0], Stdout: p.theirs[1], Stderr: p.theirs[2]}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		p.close()
		return nil, err
	}
	closeAll(p.theirs[:]...)
	return &process{
		cmd: cmd, pid: cmd.Process.Pid, mark: mark, exited: make(chan struct{}),
		stdin: p.ours[0], stdout: p.ours[1], stderr: p.ours[2],
	}, nil
}
