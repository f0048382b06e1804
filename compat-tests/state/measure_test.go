// SPDX-License-Identifier: Apache-2.0

// This file times a Java bolt's calls: go test -bench Java -run none.

package state

import (
	"bufio"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

const manyKeys = 1_000_000

// BenchmarkJava prints what calls of a bolt take, in our state, in Storm's in-memory state and in its Redis state.
func BenchmarkJava(b *testing.B) {
	jars := redisJars(b)
	path := compile(b, "java", jars)
	config := fmt.Sprintf(`{"jedisPoolConfig": {"host": "127.0.0.1", "port": %d}}`, redis(b))
	for _, c := range []struct{ name, where string }{
		{"gust", newBed(b, nil, false).socket},
		{"memory", "org.apache.storm.state.InMemoryKeyValueStateProvider"},
		{"redis", "org.apache.storm.redis.state.RedisKeyValueStateProvider"},
	} {
		b.Run(c.name, func(b *testing.B) {
			cmd := exec.Command("java", "-Xmx768m", "-XX:+UseSerialGC", "-Dorg.apache.logging.log4j.level=OFF", "-cp", path,
				"io.github.guststream.state.Measure", c.where, strconv.Itoa(manyKeys), config)
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
