// SPDX-License-Identifier: Apache-2.0

package container

// Tests of reading /proc.

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestParseStatus(t *testing.T) {
	t.Parallel()
	tail := strings.Repeat(" 0", 14) + " 4242 0 0"
	for name, c := range map[string]struct {
		text string
		want status
	}{
		"Plain":    {"7 (java) S 3 7 5 0" + tail, status{identity{7, 4242}, 3, 5, false}},
		"Brackets": {"7 (a) R 1 2 (x) ) S 3 7 5 0" + tail, status{identity{7, 4242}, 3, 5, false}},
		"Zombie":   {"7 (java) Z 3 7 5 0" + tail, status{identity{7, 4242}, 3, 5, true}},
	} {
		if got, err := parseStatus(7, []byte(c.text)); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "7", "7 (java", "7 (java) S 3", "7 (java) S x 7 5 0" + tail} {
		if _, err := parseStatus(7, []byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestStartTime(t *testing.T) {
	t.Parallel()
	me, err := identify(os.Getpid())
	must(t, err)
	started, err := startTime(me)
	if err != nil || started.After(time.Now().Add(time.Second)) || time.Since(started) > time.Hour {
		t.Errorf("this test started at %v, %v", started, err)
	}
	if !me.alive() || (identity{me.pid, me.start + 1}).alive() || (identity{}).alive() {
		t.Error("alive is wrong about this test's own process")
	}
}
