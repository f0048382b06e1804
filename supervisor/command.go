// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file fills in what the command lines of all workers have in common.

import (
	"runtime"

	"github.com/gust-stream/gust/supervisor/container"
)

func (s *Supervisor) command(c container.Command) container.Command {
	c.SupervisorID, c.SupervisorPort = s.id, s.serverPort
	c.Host = container.Host{
		Conf:            s.cfg.Conf,
		JavaHome:        s.cfg.JavaHome,
		StormHome:       s.cfg.StormHome,
		StormVersion:    s.cfg.StormVersion,
		ConfDir:         s.cfg.ConfDir,
		LogDir:          s.cfg.LogDir,
		LocalDir:        s.cfg.Layout.Local,
		Artifacts:       s.cfg.Layout.Artifacts,
		Hostname:        s.cfg.Hostname,
		ExtClassPath:    s.cfg.ExtClassPath,
		StormOptions:    s.stormOptions,
		TaskRefreshSecs: s.cfg.TaskRefreshSecs,
		OSName:          "Linux",
		OSArch:          javaArch(runtime.GOARCH),
	}
	return c
}

// javaArch is Java's os.arch for one of Go's architectures, where the two differ.
func javaArch(arch string) string {
	switch arch {
	case "arm64":
		return "aarch64"
	case "386":
		return "i386"
	}
	return arch
}
