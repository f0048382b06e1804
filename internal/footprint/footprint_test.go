// SPDX-License-Identifier: Apache-2.0

// This file tests which mappings are let go, and that a program goes on without them.

package footprint

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnchangedTakesOnlyTheFilesOwnPages(t *testing.T) {
	t.Parallel()
	const maps = `00400000-01000000 r-xp 00000000 fe:00 12 /opt/my gust/bin
01000000-02000000 r--p 00c00000 fe:00 12 /opt/my gust/bin
02000000-02100000 rw-p 01c00000 fe:00 12 /opt/my gust/bin
c000000000-c000400000 rw-p 00000000 00:00 0
7f0000000000-7f0000010000 r--p 00000000 fe:00 13 /usr/lib/other
7f0000010000-7f0000020000 r--p 00000000 00:00 0
`
	got, err := unchanged(strings.NewReader(maps), "/opt/my gust/bin")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]span{{0x400000, 0x1000000}, {0x1000000, 0x2000000}}, got, cmp.AllowUnexported(span{})); diff != "" {
		t.Error(diff)
	}
}

func TestShrinkLetsGoOfTheProgramsPages(t *testing.T) {
	before := mapped(t)
	if err := Shrink(); err != nil {
		t.Fatal(err)
	}
	if after := mapped(t); after >= before {
		t.Errorf("%d KiB of the program were mapped before, %d after", before, after)
	}
	// Code and tables that were let go still work.
	if text, err := json.Marshal(map[string]any{"a": []int{1}}); err != nil || string(text) != `{"a":[1]}` {
		t.Errorf("got %s, %v", text, err)
	}
}

// mapped is how much of files is mapped, in KiB.
func mapped(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssFile:"); ok {
			n := 0
			for _, c := range strings.TrimSpace(rest) {
				if c >= '0' && c <= '9' {
					n = n*10 + int(c-'0')
				}
			}
			return n
		}
	}
	t.Fatal("no RssFile in /proc/self/status")
	return 0
}
