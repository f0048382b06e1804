// SPDX-License-Identifier: Apache-2.0

// This file runs "storm jar", as each side does it.

package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// SubmitByJar runs "storm jar" with the bench topology and returns when the
// command has ended. For stock it takes the steps of Storm's own script: two
// JVMs that each print one value, then the client's JVM. (The script's shell
// and Python, some 0.1 s, are left out.) More are KEY=VALUE entries of the
// topology's conf.
func (c *Cluster) SubmitByJar(ctx context.Context, name string, more ...string) error {
	args := append([]string{Main, name, c.Out()}, more...)
	if c.Kind.IsGust() {
		argv := append([]string{c.site.Storm, "jar", c.site.Jar}, args...)
		return c.client(ctx, c.site.Home, argv)
	}
	extra := []string{c.site.Jar, c.conf(0)}
	for _, key := range []string{"storm.log.dir", "java.library.path"} {
		if _, err := c.site.confValue(ctx, c.conf(0), key); err != nil {
			return err
		}
	}
	home := c.site.Stock
	path := append([]string{filepath.Join(home, "lib-worker", "*"), filepath.Join(home, "extlib", "*")}, extra...)
	argv := []string{
		c.site.Java, "-client", "-Ddaemon.name=", "-Dstorm.options=", "-Dstorm.home=" + home, "-Dstorm.log.dir=" + c.logs(0),
		"-Dstorm.conf.file=", "-cp", strings.Join(path, ":"), "-Dstorm.jar=" + c.site.Jar, "-Dstorm.dependency.jars=",
		"-Dstorm.dependency.artifacts={}",
	}
	return c.client(ctx, home, append(argv, args...))
}

func (c *Cluster) client(ctx context.Context, home string, argv []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "STORM_CONF_DIR="+c.conf(0), "STORM_HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run storm jar: %w\n%s", err, out)
	}
	return nil
}
