// SPDX-License-Identifier: Apache-2.0

// This file sends what must be refused.

package compat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gust-stream/gust/compat-tests/harness"
)

// badSubmits runs the Java class of that name, then what goes wrong before
// Nimbus is asked, and checks that nothing stays behind.
func (r rig) badSubmits(ctx context.Context) (record, error) {
	var rec record
	out, err := harness.Submit(ctx, r.cluster, harness.Submission{Main: "org.gust.compat.BadSubmits"})
	if err != nil {
		return rec, err
	}
	var cases map[string]json.RawMessage
	for line := range bytes.Lines([]byte(out)) {
		if rest, ok := bytes.CutPrefix(line, []byte("=")); ok {
			if err := json.Unmarshal(rest, &cases); err != nil {
				return rec, fmt.Errorf("read refusals: %w", err)
			}
		}
	}
	if len(cases) == 0 {
		return rec, fmt.Errorf("no refusal was printed:\n%s", out)
	}
	outcome := map[string]any{"cases": cases}
	for name, sub := range map[string]harness.Submission{
		"no main class": {Main: "org.gust.compat.Ghost", Args: []string{"bad-main", "out"}},
		"no jar":        {Main: "org.gust.compat.WordCount", Args: []string{"bad-jar", "out"}, Jar: "/nowhere/app.jar"},
	} {
		if sub.Jar != "" {
			if sub.Path, err = harness.Jar(); err != nil {
				return rec, err
			}
		}
		out, err := harness.Submit(ctx, r.cluster, sub)
		if err == nil {
			return rec, fmt.Errorf("%s: it was taken:\n%s", name, out)
		}
		outcome[name] = complaint(out)
	}
	if err := r.idle(ctx); err != nil {
		return rec, err
	}
	var left map[string]any
	if err := r.client.Get(ctx, &left, "list"); err != nil {
		return rec, err
	}
	if len(left) > 0 {
		return rec, fmt.Errorf("refused topologies are there all the same: %v", left)
	}
	rec.Storm, rec.Outcome = harness.Version, outcome
	return rec, nil
}

// complaint is the line of a JVM's output that says what was wrong.
func complaint(out string) string {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "Error:") || strings.Contains(line, "Exception") {
			return strings.TrimSpace(line)
		}
	}
	return out
}
