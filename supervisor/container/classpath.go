// SPDX-License-Identifier: Apache-2.0

package container

// This file builds a worker's class path and names its main class.

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
)

// classPath builds the class path, and the JVM options for a class-data archive if one can be used: the archive's own class
// path must be the beginning of the worker's, entry by entry, so the jars of lib-worker are then named one by one instead
// of by a wildcard.
func (c Command) classPath(version stormVersion, options []string) (path string, archive []string, err error) {
	beginning, err := stringList(c.Topology.Conf, config.TopologyClasspathBeginning)
	if err != nil {
		return "", nil, err
	}
	end, err := stringList(c.Topology.Conf, config.TopologyClasspath)
	if err != nil {
		return "", nil, err
	}
	framework, own, err := c.frameworkClassPath(version)
	if err != nil {
		return "", nil, err
	}
	if c.Archive != nil && own && len(beginning) == 0 && !sharesClassData(options) {
		framework = append(append([]string{}, c.Archive.Jars...), framework[1:]...)
		archive = []string{"-XX:SharedArchiveFile=" + c.Archive.File}
	}
	entries := slices.Concat(beginning, framework)
	entries = append(entries, filepath.Join(c.Topology.Dir, localstate.TopologyJar))
	entries = append(entries, c.Topology.Dependencies...)
	entries = append(entries, end...)
	return strings.Join(entries, ":"), archive, nil
}

// frameworkClassPath is Storm's part of the class path; own is false if supervisor.worker.version.classpath.map replaced it.
func (c Command) frameworkClassPath(version stormVersion) (path []string, own bool, err error) {
	home := c.Host.StormHome
	path = []string{filepath.Join(home, "lib-worker") + "/*", filepath.Join(home, "extlib") + "/*"}
	if c.Host.ExtClassPath != "" {
		path = append(path, c.Host.ExtClassPath)
	}
	path = append(path, c.Host.ConfDir)
	value, found, err := c.forVersion(config.SupervisorWorkerVersionClasspathMap, version)
	if err != nil || !found {
		return path, true, err
	}
	return strings.Split(value, ":"), false, nil
}

// mainClass is the class to run: what supervisor.worker.version.main.map says, else what that major version had.
func (c Command) mainClass(version stormVersion) (string, error) {
	value, found, err := c.forVersion(config.SupervisorWorkerVersionMainMap, version)
	switch {
	case err != nil || found:
		return value, err
	case version.major == 0:
		return "backtype.storm.daemon.worker", nil
	case version.major == 1:
		return "org.apache.storm.daemon.worker", nil
	}
	return "org.apache.storm.daemon.worker.Worker", nil
}

// forVersion looks a version up in a map of the supervisor's conf. The home's own line needs no entry and heeds none.
func (c Command) forVersion(key string, version stormVersion) (string, bool, error) {
	own := parseVersion(c.Host.StormVersion)
	byVersion := map[string]string{c.Host.StormVersion: ""}
	for v, value := range c.Host.Conf.Map(key) {
		text, ok := value.(string)
		if !ok {
			return "", false, fmt.Errorf("%s: the value for %s is no string", key, v)
		}
		if parseVersion(v).compare(own) != 0 {
			byVersion[v] = text
		}
	}
	value, found := compatible(byVersion, version)
	return value, found && value != "", nil
}

// stringList reads a key that holds a string or a list of strings.
func stringList(conf config.Conf, key string) ([]string, error) {
	switch value := conf[key].(type) {
	case nil:
		return nil, nil
	case string:
		return []string{value}, nil
	case []any:
		var list []string
		for _, element := range value {
			text, ok := element.(string)
			if !ok {
				return nil, fmt.Errorf("%s holds %v, which is no string", key, element)
			}
			list = append(list, text)
		}
		return list, nil
	}
	return nil, fmt.Errorf("%s is neither a string nor a list of strings", key)
}

// sharesClassData says whether JVM options name a class-data archive of their own or change what an archive depends on.
func sharesClassData(options []string) bool {
	for _, option := range options {
		for _, prefix := range []string{
			"-Xshare", "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit", "-XX:SharedClassListFile",
			"-XX:DumpLoadedClassList", "-XX:+AutoCreateSharedArchive", "-XX:-UseSharedSpaces", "-XX:AOT",
			"-Xbootclasspath", "--patch-module", "--upgrade-module-path", "--limit-modules",
		} {
			if strings.HasPrefix(option, prefix) {
				return true
			}
		}
	}
	return false
}
