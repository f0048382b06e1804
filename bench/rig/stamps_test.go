// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
			ledger, err := parseLedger(tc.text)
			got := ledger.stamp()
			if (err != nil) != tc.odd {
				t.Fatalf("error %v, odd should be %v", err, tc.odd)
			}
			if err == nil && got != tc.want {
				t.Errorf("%+v, not %+v", got, tc.want)
			}
		})
	}
}

func TestLedgerInASpanOfTime(t *testing.T) {
	t.Parallel()
	l, err := parseLedger("open\t1\nfailed\t2\ntook\t1000000000\t5,7\nacked\t1000000000\t10\n" +
		"took\t2000000000\t8\nacked\t2000000000\t30\nacked\t3000000000\t90\nacked\t4000000000\t91\n")
	if err != nil {
		t.Fatal(err)
	}
	rate, err := l.Rate(time.Unix(1, 0), time.Unix(3, 500))
	if err != nil || rate != 40 || l.Failed != 1 {
		t.Errorf("rate %v, error %v, %d failed", rate, err, l.Failed)
	}
	if _, err := l.Rate(time.Unix(4, 0), time.Unix(9, 0)); err == nil {
		t.Error("a rate of one mark")
	}
	if diff := cmp.Diff([]time.Duration{8 * time.Microsecond}, l.TookIn(time.Unix(1, 0), time.Unix(2, 0))); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}

func TestProcessTimes(t *testing.T) {
	t.Parallel()
	started, err := StartedAt(os.Getpid())
	if err != nil || started.After(time.Now()) || time.Since(started) > time.Hour {
		t.Errorf("started at %v, error %v", started, err)
	}
	if used, err := CPU(os.Getpid(), os.Getpid()); err != nil || used < 0 {
		t.Errorf("used %v, error %v", used, err)
	}
}
