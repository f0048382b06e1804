// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gust-stream/gust/internal/run"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// diary notes in which order parts end.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) part(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		d.mu.Lock()
		defer d.mu.Unlock()
		d.lines = append(d.lines, name)
		return ctx.Err()
	}
}

func TestStopsInTheOppositeOrder(t *testing.T) {
	t.Parallel()
	var d diary
	ctx, cancel := context.WithCancel(t.Context())
	s := run.New(ctx)
	for _, name := range []string{"first", "second", "third"} {
		s.Start(name, d.part(name))
	}
	cancel()
	if err := s.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"third", "second", "first"}, d.lines); diff != "" {
		t.Fatal(diff)
	}
}

func TestFailureOfOneEndsAll(t *testing.T) {
	t.Parallel()
	var d diary
	s := run.New(t.Context())
	s.Start("below", d.part("below"))
	boom := errors.New("boom")
	s.Start("broken", func(context.Context) error { return boom })
	s.Start("above", d.part("above"))
	err := s.Wait(t.Context())
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "broken: boom") {
		t.Fatalf("Wait = %v", err)
	}
	if diff := cmp.Diff([]string{"above", "below"}, d.lines); diff != "" {
		t.Fatal(diff)
	}
}

func TestEarlyEndIsAnError(t *testing.T) {
	t.Parallel()
	s := run.New(t.Context())
	s.Start("quitter", func(context.Context) error { return nil })
	if err := s.Wait(t.Context()); err == nil || err.Error() != "quitter ended" {
		t.Fatalf("Wait = %v", err)
	}
}
