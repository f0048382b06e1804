// SPDX-License-Identifier: Apache-2.0

// This file is about the topology org.gust.compat.Steady: numbers without an end,
// from a source that goes on behind what was acked, through two steps into ledgers.

package site

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/gust-stream/gust/compat-tests/ledger"
)

// MessageTimeout is after how long a number that got lost is sent again.
const MessageTimeout = 10 * time.Second

// Steady is one running Steady.
type Steady struct {
	Name string
	// ID is its topology id, once it was submitted.
	ID      string
	Workers int
	site    *Site
}

// NewSteady names a Steady of so many workers. It submits nothing.
func (s *Site) NewSteady(name string, workers int) *Steady {
	return &Steady{Name: name, Workers: workers, site: s}
}

// out is the folder of its ledgers.
func (y *Steady) out() string { return filepath.Join(y.site.Dir, "results", y.Name) }

// conf is its topology conf.
func (y *Steady) conf() map[string]any {
	return map[string]any{
		"compat.out": y.out(), "compat.pause.ms": 10, "topology.workers": y.Workers, "topology.max.spout.pending": 200,
		"topology.message.timeout.secs": int(MessageTimeout / time.Second),
	}
}

// Submit submits it with Storm's own submitter.
func (y *Steady) Submit(ctx context.Context, more ...string) error {
	args := []string{y.Name, y.out()}
	for key, value := range y.conf() {
		args = append(args, fmt.Sprintf("%s=%v", key, value))
	}
	if err := y.site.JavaSubmit(ctx, "org.gust.compat.Steady", append(args, more...)...); err != nil {
		return err
	}
	return y.submitted(ctx)
}

// SubmitLike submits it without a JVM, with the code of another one that runs.
func (y *Steady) SubmitLike(ctx context.Context, other *Steady, conf map[string]any) error {
	all := y.conf()
	maps.Copy(all, conf)
	if err := y.site.Resubmit(ctx, other.ID, y.Name, all); err != nil {
		return err
	}
	return y.submitted(ctx)
}

func (y *Steady) submitted(ctx context.Context) (err error) {
	if y.ID, err = y.site.TopologyID(ctx, y.Name); err == nil && y.ID == "" {
		err = fmt.Errorf("topology %s is not listed after its submit", y.Name)
	}
	return err
}

// Acked is the number below which all are acked.
func (y *Steady) Acked() (int64, error) {
	text, err := os.ReadFile(filepath.Join(y.out(), "offsets", "numbers"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read offset: %w", err)
	}
	if len(text) != 8 {
		return 0, fmt.Errorf("read offset: %d bytes, not 8", len(text))
	}
	return int64(binary.BigEndian.Uint64(text)), nil //nolint:gosec // the spout counts up from 0
}

// Flow waits until so many more numbers are acked than are now.
func (y *Steady) Flow(ctx context.Context, more int64, limit time.Duration) error {
	from, err := y.Acked()
	if err != nil {
		return err
	}
	return within(ctx, limit, fmt.Sprintf("%s to ack %d numbers behind %d", y.Name, more, from), func() (bool, error) {
		acked, err := y.Acked()
		return acked >= from+more, err
	})
}

// Await waits until the topology has its number of workers, none of them among
// the given ones, and gives them.
func (y *Steady) Await(ctx context.Context, limit time.Duration, not ...Worker) (workers []Worker, err error) {
	err = within(ctx, limit, fmt.Sprintf("%s to have %d workers", y.Name, y.Workers), func() (bool, error) {
		workers, err = y.site.WorkersOf(y.ID)
		if err != nil || len(workers) != y.Workers {
			return false, err
		}
		return !slices.ContainsFunc(workers, func(w Worker) bool {
			return slices.ContainsFunc(not, func(o Worker) bool { return o.PID == w.PID })
		}), nil
	})
	return workers, err
}

// Tally is what the ledgers say.
type Tally struct {
	// Acked is the number below which all are acked.
	Acked int64
	// Opens are the numbers with which each start of the spout began.
	Opens []int64
	// Taken and Failed count for each number how often it reached the end, and
	// how often the spout was told to send it again.
	Taken, Failed map[int64]int
}

// Tally reads the ledgers.
func (y *Steady) Tally() (*Tally, error) {
	acked, err := y.Acked() // first: what is acked now is in the ledgers that are read next
	if err != nil {
		return nil, err
	}
	book, err := ledger.Read(y.out())
	if err != nil {
		return nil, err
	}
	t := &Tally{Acked: acked, Taken: map[int64]int{}, Failed: map[int64]int{}}
	for _, line := range book["sink"] {
		if err := count(t.Taken, line.Cells, 4); err != nil {
			return nil, err
		}
	}
	for _, line := range book.Verb("numbers", "failed") {
		if err := count(t.Failed, line.Cells, 0); err != nil {
			return nil, err
		}
	}
	for _, line := range book.Verb("numbers", "open") {
		from, err := strconv.ParseInt(line.Cells[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read ledger: %w", err)
		}
		t.Opens = append(t.Opens, from)
	}
	return t, nil
}

func count(into map[int64]int, cells []string, cell int) error {
	if len(cells) <= cell {
		return fmt.Errorf("read ledger: a line of %d cells", len(cells))
	}
	number, err := strconv.ParseInt(cells[cell], 10, 64)
	if err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	into[number]++
	return nil
}

// Check says what is wrong with the counts: a number that was acked and never
// reached the end, and one that came more often than the spout sent it. So a
// number that no fault touched must have come exactly once.
func (t *Tally) Check() error {
	var missing, extra []int64
	for number := range t.Acked {
		if t.Taken[number] == 0 {
			missing = append(missing, number)
		}
	}
	for number, times := range t.Taken {
		sent := t.Failed[number]
		for _, from := range t.Opens {
			if from <= number {
				sent++
			}
		}
		if times > sent {
			extra = append(extra, number)
		}
	}
	slices.Sort(extra)
	var faults []error
	if len(missing) > 0 {
		faults = append(faults, fmt.Errorf("%d of %d acked numbers never arrived, the first is %d", len(missing), t.Acked, missing[0]))
	}
	if len(extra) > 0 {
		faults = append(faults, fmt.Errorf("%d numbers arrived more often than they were sent, the first is %d", len(extra), extra[0]))
	}
	return errors.Join(faults...)
}

// Repeated are how many numbers arrived more than once.
func (t *Tally) Repeated() int {
	n := 0
	for _, times := range t.Taken {
		if times > 1 {
			n++
		}
	}
	return n
}
