// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"testing"
	"time"
)

func TestParseStamp(t *testing.T) {
	t.Parallel()
	at := func(ns int64) time.Time { return time.Unix(0, ns) }
	for name, tc := range map[string]struct {
		text string
		want Stamp
		odd  bool
	}{
		"Nothing":    {text: ""},
		"Opened":     {text: "open\t5\n", want: Stamp{Opened: at(5)}},
		"Acked":      {text: "open\t5\nacked\t7\t1\nacked\t9\t30\n", want: Stamp{Opened: at(5), First: at(7), Last: at(9), Acked: 30}},
		"Unfinished": {text: "open\t5\nacked\t7\t1\nacked\t9", want: Stamp{Opened: at(5), First: at(7), Last: at(7), Acked: 1}},
		"NoNumber":   {text: "open\tx\n", odd: true},
		"NoCount":    {text: "acked\t7\n", odd: true},
		"OtherWord":  {text: "closed\t7\n", odd: true},
		"OneCell":    {text: "open\n", odd: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseStamp(tc.text)
			if (err != nil) != tc.odd {
				t.Fatalf("error %v, odd should be %v", err, tc.odd)
			}
			if err == nil && got != tc.want {
				t.Errorf("%+v, not %+v", got, tc.want)
			}
		})
	}
}
