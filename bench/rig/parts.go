// SPDX-License-Identifier: Apache-2.0

// This file holds the command lines of the parts of each kind of cluster.

package rig

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// part is one daemon.
type part struct {
	name string
	node int
	port int // listens on it when it is up
	// argv gives the command line; with Storm's script that takes JVMs of its own.
	argv func(context.Context) ([]string, error)
}

func supervisorName(i int) string { return fmt.Sprintf("supervisor%d", i) }

// parts are the cluster's daemons in the order of their start.
func (c *Cluster) parts() []part {
	if c.Kind == Gust {
		return []part{c.gust("gust", 0, c.nimbus, "dev", "--dir", c.folder(0))}
	}
	var parts []part
	if c.Kind == Three {
		parts = append(parts, c.gust("zookeeper", 0, c.zookeeper, "zookeeper"), c.gust("nimbus", 0, c.nimbus, "nimbus"))
		for i, port := range c.supervisors {
			parts = append(parts, c.gust(supervisorName(i), i, port, "supervisor"))
		}
		return parts
	}
	parts = append(parts, c.stock("zookeeper", 0, c.zookeeper, "", "org.apache.storm.command.DevZookeeper"),
		c.stock("nimbus", 0, c.nimbus, "nimbus.childopts", "org.apache.storm.daemon.nimbus.Nimbus"))
	for i, port := range c.supervisors {
		parts = append(parts, c.stock(supervisorName(i), i, port, "supervisor.childopts", "org.apache.storm.daemon.supervisor.Supervisor"))
	}
	return parts
}

func (c *Cluster) gust(name string, node, port int, args ...string) part {
	argv := append([]string{c.site.Gust}, args...)
	argv = append(argv, "--config", filepath.Join(c.conf(node), "storm.yaml"), "--storm-home", c.site.Home)
	return part{name: name, node: node, port: port, argv: func(context.Context) ([]string, error) { return argv, nil }}
}

// stock is a daemon as Storm's script runs it. The script asks for each value
// that it needs with a JVM: the log configuration, the daemon's own options
// (but for ZooKeeper), the log folder and the library path.
func (c *Cluster) stock(name string, node, port int, childopts, class string) part {
	argv := func(ctx context.Context) ([]string, error) {
		options := c.site.childopts[childopts]
		if c.Kind == Script {
			keys := []string{"storm.log4j2.conf.dir", "storm.log.dir", "java.library.path"}
			if childopts != "" {
				keys = append([]string{childopts}, keys...)
			}
			for _, key := range keys {
				value, err := c.site.confValue(ctx, c.conf(node), key)
				if err != nil {
					return nil, err
				}
				if key == childopts {
					options = value
				}
			}
		}
		home := c.site.Stock
		path := strings.Join([]string{filepath.Join(home, "lib", "*"), filepath.Join(home, "extlib", "*"), c.conf(node)}, ":")
		line := []string{
			c.site.Java, "-server", "-Ddaemon.name=" + name, "-Dstorm.options=", "-Dstorm.home=" + home,
			"-Dstorm.log.dir=" + c.logs(node), "-Dstorm.conf.file=", "-cp", path,
		}
		line = append(line, strings.Fields(options)...)
		return append(line, "-Djava.deserialization.disabled=true", "-Dlogfile.name="+name+".log",
			"-Dlog4j.configurationFile="+filepath.Join(home, "log4j2", "cluster.xml"), class), nil
	}
	return part{name: name, node: node, port: port, argv: argv}
}
