// SPDX-License-Identifier: Apache-2.0

// This file times a Java bolt's calls: go test -bench Java -run none.

package state

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

const manyKeys = 1_000_000

// BenchmarkJava prints what calls of a bolt take, over a store without a disk and in Storm's in-memory state.
func BenchmarkJava(b *testing.B) {
	path := compile(b, "java")
	socket := newBed(b, nil, false).socket
	for _, c := range []struct{ name, where string }{{"gust", socket}, {"memory", "memory"}} {
		b.Run(c.name, func(b *testing.B) {
			cmd := exec.Command("java", "-Xmx768m", "-XX:+UseSerialGC", "-Dorg.apache.logging.log4j.level=OFF", "-cp", path,
				"io.github.guststream.state.Measure", c.where, strconv.Itoa(manyKeys))
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil {
				b.Fatalf("%v\n%s", err, errs.String())
			}
			for sc := bufio.NewScanner(strings.NewReader(string(out))); sc.Scan(); {
				b.Log(sc.Text())
			}
		})
	}
}
