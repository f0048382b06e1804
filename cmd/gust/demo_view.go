// SPDX-License-Identifier: Apache-2.0

// This file draws the demo: top words and their rates, and what Nimbus says of the topology and its workers.

package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// topWords is how many words are shown.
const topWords = 10

type demoView struct {
	out     io.Writer
	conf    config.Conf
	counts  string // folder of the tasks' counts
	started time.Time
	screen  bool // a terminal is drawn over, anything else gets one picture after the other
	before  map[string]int64
	at      time.Time
}

func newDemoView(out io.Writer, conf config.Conf, counts string) *demoView {
	file, ok := out.(*os.File)
	screen := false
	if ok {
		info, err := file.Stat()
		screen = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return &demoView{out: out, conf: conf, counts: counts, started: time.Now(), screen: screen}
}

// run draws until ctx ends: each second on a terminal, each five seconds elsewhere.
func (v *demoView) run(ctx context.Context) error {
	pause := 5 * time.Second
	if v.screen {
		pause = time.Second
	}
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		if err := v.draw(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (v *demoView) draw(ctx context.Context) error {
	info, err := v.topology(ctx)
	if err != nil {
		return err
	}
	counts, err := readCounts(v.counts)
	if err != nil {
		return err
	}
	var page strings.Builder
	if v.screen {
		page.WriteString("\x1b[H\x1b[2J")
	}
	now := time.Now()
	fmt.Fprintf(&page, "gust demo, %s since submit (Ctrl-C ends it)\n\n", now.Sub(v.started).Round(time.Second))
	writeTopology(&page, info)
	v.writeWords(&page, counts, now)
	fmt.Fprintf(&page, "\nFrom another terminal: bin/storm list -c nimbus.thrift.port=%d\n\n", v.conf.Int(config.NimbusThriftPort, 0))
	v.before, v.at = counts, now
	_, err = io.WriteString(v.out, page.String())
	return err
}

func (v *demoView) topology(ctx context.Context) (*storm.TopologyInfo, error) {
	nimbus, err := dialNimbus(ctx, v.conf)
	if err != nil {
		return nil, err
	}
	defer hangUp(nimbus)
	one := storm.NumErrorsChoice_ONE
	return nimbus.GetTopologyInfoByNameWithOpts(ctx, demoName, &storm.GetInfoOptions{NumErrChoice: &one})
}

// writeTopology shows the state of the topology and, for each worker, its tasks.
func writeTopology(page *strings.Builder, info *storm.TopologyInfo) {
	fmt.Fprintf(page, "topology %s (%s) is %s, up %d s, scheduler: %s\n", info.Name, info.ID, info.Status, info.UptimeSecs, info.GetSchedStatus())
	tasks := map[string][]string{}
	for _, e := range info.Executors {
		worker := fmt.Sprintf("%s:%d", e.Host, e.Port)
		tasks[worker] = append(tasks[worker], fmt.Sprintf("%s[%d-%d]", e.ComponentID, e.ExecutorInfo.TaskStart, e.ExecutorInfo.TaskEnd))
	}
	for _, worker := range slices.Sorted(maps.Keys(tasks)) {
		slices.Sort(tasks[worker])
		fmt.Fprintf(page, "worker %s runs %s\n", worker, strings.Join(tasks[worker], " "))
	}
	for component, errs := range info.Errors {
		if len(errs) > 0 {
			first, _, _ := strings.Cut(errs[0].Error, "\n")
			fmt.Fprintf(page, "error in %s: %s\n", component, first)
		}
	}
}

func (v *demoView) writeWords(page *strings.Builder, counts map[string]int64, now time.Time) {
	if len(counts) == 0 {
		page.WriteString("\nno words yet: the Java worker is starting\n")
		return
	}
	words := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	seconds := now.Sub(v.at).Seconds()
	fmt.Fprintf(page, "\n%-12s %12s %10s\n", "word", "count", "per second")
	var total, rate float64
	for i, word := range words {
		speed := float64(counts[word]-v.before[word]) / seconds
		if v.before == nil || v.before[word] == 0 {
			speed = 0
		}
		total, rate = total+float64(counts[word]), rate+speed
		if i < topWords {
			fmt.Fprintf(page, "%-12s %12d %10.0f\n", word, counts[word], speed)
		}
	}
	fmt.Fprintf(page, "%-12s %12.0f %10.0f\n", "all words", total, rate)
}

// readCounts adds up what the tasks show; a task that has written nothing yet counts nothing.
func readCounts(dir string) (map[string]int64, error) {
	counts := map[string]int64{}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.now"))
	if err != nil {
		return nil, fmt.Errorf("look for counts: %w", err)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read counts: %w", err)
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			word, number, _ := strings.Cut(lines.Text(), "\t")
			count, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				_ = file.Close() // the fault found is the one to tell
				return nil, fmt.Errorf("read counts from %s: %w", name, err)
			}
			counts[word] += count
		}
		if err := errors.Join(lines.Err(), file.Close()); err != nil {
			return nil, fmt.Errorf("read counts: %w", err)
		}
	}
	return counts, nil
}
