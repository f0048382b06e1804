// SPDX-License-Identifier: Apache-2.0

package container

// This file keeps a twin's files apart from those of the worker that runs, and its launcher's jar on the disk.

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/localstate"
)

// twinClass is the class that a twin begins with; launcher/make.sh compiles it, and lists the classes that it loads.
const twinClass = "org.gust.launcher.Twin"

//go:embed launcher/Twin.class launcher/classes.txt launcher/quiet.xml
var twinFiles embed.FS

// twinPrefix begins the name of the folder that a twin has for artifacts.
const twinPrefix = ".twin-"

// twinArtifacts is where the JVM of a twin writes what a worker's writes to artifacts: its log of garbage collections, for
// one, which it opens before any class is loaded. It lies beside the real files, so that they can be moved there.
func twinArtifacts(layout localstate.Layout, cmd Command) string {
	return filepath.Join(layout.WorkerArtifacts(cmd.Topology.ID, cmd.Port), twinPrefix+cmd.WorkerID)
}

func (t *Twin) makeFolder() error {
	artifacts := twinArtifacts(t.l.cfg.Layout, t.cmd)
	if err := os.MkdirAll(artifacts, 0o755); err != nil {
		return err
	}
	return makeFolder(t.l.cfg.Layout, t.cmd, artifacts)
}

// takeArtifacts moves the twin's files to the slot's, and its link there. What the slot's last worker left under such a name
// is kept as <name>.old.
func (t *Twin) takeArtifacts() error {
	layout := t.l.cfg.Layout
	from, to := twinArtifacts(layout, t.cmd), layout.WorkerArtifacts(t.cmd.Topology.ID, t.cmd.Port)
	link := filepath.Join(layout.Worker(t.w.id), "artifacts")
	fresh := localstate.TempName(layout.Worker(t.w.id), "artifacts")
	if err := os.Symlink(to, fresh); err != nil {
		return err
	}
	// The link first: what the JVM opens from now on is where it belongs.
	if err := os.Rename(fresh, link); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		target := filepath.Join(to, entry.Name())
		if err := os.Rename(target, target+".old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Rename(filepath.Join(from, entry.Name()), target); err != nil {
			return err
		}
	}
	return os.Remove(from)
}

// removeTwinArtifacts removes the folder of a twin that was never released.
func (w *Worker) removeTwinArtifacts() error {
	target, err := os.Readlink(filepath.Join(w.l.cfg.Layout.Worker(w.id), "artifacts"))
	if err != nil || filepath.Base(target) != twinPrefix+w.id {
		return nil //nolint:nilerr // a worker's folder may lack the link
	}
	return os.RemoveAll(target)
}

// twinJar writes the jar of the twin's class, unless it is there, and gives its path. The name tells the content, so that
// another gust does not change the jar under a JVM that has it open.
func twinJar(layout localstate.Layout) (string, error) {
	jar, err := packTwin()
	if err != nil {
		return "", fmt.Errorf("pack the twin's classes: %w", err)
	}
	sum := sha256.Sum256(jar)
	dir := filepath.Join(layout.Supervisor(), "launcher")
	path := filepath.Join(dir, "gust-twin-"+hex.EncodeToString(sum[:8])+".jar")
	if found, err := regular.ReadFile(path); err == nil && bytes.Equal(found, jar) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return path, localstate.WriteFile(path, jar, 0o644)
}

// packTwin makes the same bytes every time.
func packTwin() ([]byte, error) {
	var jar bytes.Buffer
	z := zip.NewWriter(&jar)
	folder := strings.ReplaceAll(twinClass[:strings.LastIndexByte(twinClass, '.')], ".", "/")
	for _, name := range []string{"Twin.class", "classes.txt", "quiet.xml"} {
		data, err := twinFiles.ReadFile("launcher/" + name)
		if err != nil {
			return nil, err
		}
		if comment, rest, ok := bytes.Cut(data, []byte("\n")); ok && bytes.HasPrefix(comment, []byte("#")) {
			data = rest
		}
		f, err := z.Create(folder + "/" + name)
		if err == nil {
			_, err = f.Write(data)
		}
		if err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return jar.Bytes(), err
}

// twinObstacle says why a worker of that command line cannot have a twin: the JVM itself, before any class of ours, would
// take what only one process can have, or touch files of the running worker.
func (c Command) twinObstacle(environ []string) error {
	options := c.jvmOptions(c.memory())
	for _, entry := range mergeEnv(environ, c.environment()) {
		if name, value, _ := cutEnv(entry); name == "JAVA_TOOL_OPTIONS" || name == "JDK_JAVA_OPTIONS" || name == "_JAVA_OPTIONS" {
			options = append(options, strings.Fields(value)...)
		}
	}
	for _, option := range options {
		if !c.standsTwice(option) {
			return fmt.Errorf("two JVMs of a slot cannot both have the option %s", option)
		}
	}
	return nil
}

// standsTwice says whether two JVMs of a slot can have an option at a time. Relative paths lead into a folder of each one's.
func (c Command) standsTwice(option string) bool {
	for _, prefix := range []string{
		"-agentlib:", "-agentpath:", "-javaagent:", "-Xrunjdwp", "-Dcom.sun.management.jmxremote.port", "-Dcom.sun.management.jmxremote.rmi.port",
		"-XX:+AlwaysPreTouch", "-XX:+UseLargePages",
	} {
		if strings.HasPrefix(option, prefix) {
			return false
		}
	}
	logs := strings.HasPrefix(option, "-Xlog") || strings.HasPrefix(option, "-XX:LogFile=")
	absolute := strings.Contains(option, ":/") || strings.Contains(option, "=/") || strings.Contains(option, `"/`)
	own := strings.Contains(option, "%p") || strings.Contains(option, "%t") || strings.Contains(option, c.WorkerID)
	return !logs || !absolute || own
}

// stamp tells whether a file is still the one that it was.
type stamp struct {
	path string
	file uint64
	size int64
	time int64
}

// stamps looks at what a JVM of this host reads at its start beyond the topology's blobs, which the slot knows about.
func stamps(host Host) []stamp {
	var list []stamp
	for _, path := range []string{
		filepath.Join(host.ConfDir, "storm.yaml"), host.StormConfFile,
		filepath.Join(host.StormHome, "lib-worker"), filepath.Join(host.StormHome, "extlib"),
	} {
		s := stamp{path: path}
		if info, err := os.Stat(path); err == nil {
			s.size, s.time = info.Size(), info.ModTime().UnixNano()
			if raw, ok := info.Sys().(*syscall.Stat_t); ok {
				s.file = raw.Ino
			}
		}
		list = append(list, s)
	}
	return list
}

func sameStamps(before, now []stamp) error {
	for i := range before {
		if before[i] != now[i] {
			return fmt.Errorf("%s has changed since it was prepared", before[i].path)
		}
	}
	return nil
}
