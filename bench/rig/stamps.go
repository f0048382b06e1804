// SPDX-License-Identifier: Apache-2.0

// This file reads what the spout of the bench topology wrote down.

package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
)

// Stamp is what one incarnation of the bench spout saw.
type Stamp struct {
	File string
	PID  int // of the worker
	// Opened is when its open was called; First when its first tuple was
	// acked, zero before that; Acked how many were by Last.
	Opened, First, Last time.Time
	Acked               int64
}

// Stamps reads the incarnations that the topology has had, in no order.
func (c *Cluster) Stamps(topology string) ([]Stamp, error) {
	files, err := filepath.Glob(filepath.Join(c.Out(), topology, "*.tsv"))
	if err != nil {
		return nil, fmt.Errorf("list stamps: %w", err)
	}
	var stamps []Stamp
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read stamps: %w", err)
		}
		stamp, err := parseStamp(string(text))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if stamp.PID, err = pidOf(file); err != nil {
			return nil, err
		}
		stamp.File = file
		stamps = append(stamps, stamp)
	}
	return stamps, nil
}

// pidOf takes the worker's pid from a file name, TASK.PID-RANDOM.tsv.
func pidOf(file string) (int, error) {
	_, rest, _ := strings.Cut(filepath.Base(file), ".")
	pid, _, _ := strings.Cut(rest, "-")
	n, err := strconv.Atoi(pid)
	if err != nil {
		return 0, fmt.Errorf("read stamps: no pid in the name %s: %w", file, err)
	}
	return n, nil
}

// parseStamp reads lines "open NS" and "acked NS COUNT", NS being nanoseconds
// since 1970; a last line without its end is one that is still being written.
func parseStamp(text string) (Stamp, error) {
	var s Stamp
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) < 2 {
			return s, fmt.Errorf("odd line %q", line)
		}
		ns, err := strconv.ParseInt(cells[1], 10, 64)
		if err != nil {
			return s, fmt.Errorf("odd line %q: %w", line, err)
		}
		at := time.Unix(0, ns)
		switch {
		case cells[0] == "open":
			s.Opened = at
		case cells[0] == "acked" && len(cells) == 3:
			if s.First.IsZero() {
				s.First = at
			}
			s.Last = at
			if s.Acked, err = strconv.ParseInt(cells[2], 10, 64); err != nil {
				return s, fmt.Errorf("odd line %q: %w", line, err)
			}
		default:
			return s, fmt.Errorf("odd line %q", line)
		}
	}
	return s, nil
}

// AwaitAck waits for a first ack by an incarnation that opened after since,
// and returns its stamp.
func (c *Cluster) AwaitAck(ctx context.Context, topology string, since time.Time) (Stamp, error) {
	var found Stamp
	err := testbed.Await(ctx, "an acked tuple of "+topology, 25*time.Millisecond, func() (bool, error) {
		stamps, err := c.Stamps(topology)
		if err != nil {
			return false, err
		}
		for _, s := range stamps {
			if s.Opened.After(since) && !s.First.IsZero() {
				found = s
				return true, nil
			}
		}
		return false, nil
	})
	return found, err
}
