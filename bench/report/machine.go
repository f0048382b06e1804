// SPDX-License-Identifier: Apache-2.0

// This file describes the machine that numbers are true for.

package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/bench/rig"
)

// Machine is what a reader has to know to compare numbers.
type Machine struct {
	CPU       string `json:"cpu"`
	Cores     int    `json:"cores"`
	MemoryMiB int64  `json:"memory_mib"`
	Kernel    string `json:"kernel"`
	Java      string `json:"java"`
	Go        string `json:"go"`
	Storm     string `json:"storm"`
	Gust      string `json:"gust"`
	// Load is the load average of one minute before the run; what else runs blurs numbers.
	Load string `json:"load_before"`
}

// Describe looks at this machine. What cannot be found out is left empty.
func Describe(ctx context.Context, site *rig.Site) Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version()}
	m.CPU = after(file("/proc/cpuinfo"), "model name")
	if kib, err := strconv.ParseInt(strings.TrimSuffix(after(file("/proc/meminfo"), "MemTotal"), " kB"), 10, 64); err == nil {
		m.MemoryMiB = kib / 1024
	}
	m.Kernel = strings.TrimSpace(file("/proc/sys/kernel/osrelease"))
	m.Storm = strings.TrimSpace(file(filepath.Join(site.Stock, "RELEASE")))
	m.Load, _, _ = strings.Cut(file("/proc/loadavg"), " ")
	if out, err := exec.CommandContext(ctx, site.Java, "-version").CombinedOutput(); err == nil {
		m.Java = javaVersion(string(out))
	}
	cmd := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty")
	cmd.Dir = site.Root
	if out, err := cmd.Output(); err == nil {
		m.Gust = strings.TrimSpace(string(out))
	}
	return m
}

// javaVersion is the second line of java -version, which names the build.
func javaVersion(out string) string {
	lines := strings.Split(out, "\n")
	if len(lines) < 2 {
		return strings.TrimSpace(out)
	}
	return strings.TrimSpace(lines[1])
}

func file(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

// after is what follows a name and a colon on the first line that begins with the name.
func after(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// String is the machine in one sentence.
func (m Machine) String() string {
	return fmt.Sprintf("Machine: %d cores (%s), %.0f GiB of memory, Linux %s; %s; %s; stock Apache Storm %s; gust %s; load before the run %s.",
		m.Cores, m.CPU, float64(m.MemoryMiB)/1024, m.Kernel, m.Java, m.Go, m.Storm, m.Gust, m.Load)
}
