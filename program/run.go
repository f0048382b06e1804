// SPDX-License-Identifier: Apache-2.0

package program

// This file runs a topology in this process.

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/worker/local"
)

// untilTold is a context that ends when the process is told to end; told twice, the process ends at once.
func untilTold() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Run runs all of a topology in this process, for a while or, with a length of 0, until ctx ends, and tells what it did. log may be nil.
func Run(ctx context.Context, t *component.Topology, length time.Duration, log *zap.Logger) (local.Summary, error) {
	code, err := t.Storm()
	if err != nil {
		return local.Summary{}, err
	}
	return local.Run(ctx, t.Name(), code, config.Conf(t.Conf()), local.Options{For: length, Registry: t, Log: log})
}

// runHere runs all of a topology for a while, or until the process is told to end, and prints what it did.
func runHere(t *component.Topology, length time.Duration, out, errs io.Writer) error {
	ctx, stop := untilTold()
	defer stop()
	cfg := zap.NewDevelopmentEncoderConfig()
	log := zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(cfg), zapcore.Lock(zapcore.AddSync(errs)), zap.InfoLevel))
	sum, err := Run(ctx, t, length, log)
	if sum.Components != nil {
		if err := summarize(sum, out); err != nil {
			return err
		}
	}
	return err
}

// summarize prints a table of components, and their errors.
func summarize(sum local.Summary, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "after %.1f s\texecuted\temitted\tacked\tfailed\terrors\t\n", sum.Ran.Seconds())
	for _, id := range slices.Sorted(maps.Keys(sum.Components)) {
		if c := sum.Components[id]; !strings.HasPrefix(id, "__") {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t\n", id, c.Executed, c.Emitted, c.Acked, c.Failed, c.Errors)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, e := range sum.Errors {
		if _, err := fmt.Fprintf(out, "%s, task %d, %d times: %s\n", e.Component, e.Task, e.Count, e.Text); err != nil {
			return err
		}
	}
	return nil
}
