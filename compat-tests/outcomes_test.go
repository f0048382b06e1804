// SPDX-License-Identifier: Apache-2.0

// This file reads what each topology wrote and makes its outcome.

package compat

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/compat-tests/ledger"
)

// tasksBy maps a key to the sorted task ids that had it.
type tasksBy map[string][]int

func (t tasksBy) add(key string, task int) {
	if at, found := slices.BinarySearch(t[key], task); !found {
		t[key] = slices.Insert(t[key], at, task)
	}
}

// once gives an error when a line's cells from first to last came twice: with no failure there is no replay.
func once(book ledger.Book, spout, component string, first, last int) error {
	if failed := len(book.Verb(spout, "failed")); failed > 0 {
		return fmt.Errorf("%d rows failed at spout %s, so counts are not exact", failed, spout)
	}
	seen := map[string]bool{}
	for _, line := range book[component] {
		key := strings.Join(line.Cells[first:last+1], " ")
		if seen[key] {
			return fmt.Errorf("%s got %q twice", component, key)
		}
		seen[key] = true
	}
	return nil
}

// wordCount is what became of one word: how often, and by which tasks.
type wordCount struct {
	Count int   `json:"count"`
	Tasks []int `json:"tasks"`
}

// words reads a word count: lines of word, count so far, row, position.
func words(spout string) func(ledger.Book) (any, error) {
	return func(book ledger.Book) (any, error) {
		if err := once(book, spout, "count", 2, 3); err != nil {
			return nil, err
		}
		last, lines, tasks := map[string]int{}, map[string]int{}, tasksBy{}
		for _, line := range book["count"] {
			word := line.Cells[0]
			count, err := strconv.Atoi(line.Cells[1])
			if err != nil {
				return nil, fmt.Errorf("count of %s: %w", word, err)
			}
			last[word] = max(last[word], count)
			lines[word]++
			tasks.add(word, line.Task)
		}
		out := map[string]wordCount{}
		for word, count := range last {
			if lines[word] != count {
				return nil, fmt.Errorf("%s was counted to %d in %d steps", word, count, lines[word])
			}
			out[word] = wordCount{count, tasks[word]}
		}
		return out, nil
	}
}

// exclamation counts the shouts that were heard.
func exclamation(book ledger.Book) (any, error) {
	if err := once(book, "words", "heard", 4, 5); err != nil {
		return nil, err
	}
	out := map[string]int{}
	for _, line := range book["heard"] {
		out[line.Cells[5]]++
	}
	return out, nil
}

// placed is where a grouping sent tuples; what is not fixed by the grouping stays out.
type placed struct {
	Rows  int     `json:"rows"`            // different rows that came
	Lines int     `json:"lines"`           // tuples that came
	Tasks tasksBy `json:"tasks,omitempty"` // which tasks had a row or word
	Used  []int   `json:"used,omitempty"`  // all tasks that had any
}

// groupings reads lines of port, source component, source task, stream, row, word.
func groupings(book ledger.Book) (any, error) {
	const row, word = 4, 5
	out := map[string]placed{}
	for component, key := range map[string]int{
		"by-shuffle": -1, "by-fields": word, "by-both-fields": row, "by-partial": word, "by-all": row, "by-global": -1,
		"by-none": -1, "by-local": -1, "by-custom": row, "by-direct": row,
	} {
		lines := book[component]
		got := placed{Rows: ledger.Distinct(lines, row), Lines: len(lines), Tasks: tasksBy{}}
		used := tasksBy{}
		for _, line := range lines {
			used.add("", line.Task)
			if key >= 0 {
				got.Tasks.add(line.Cells[key], line.Task)
			}
		}
		got.Used = used[""]
		out[component] = got
	}
	return out, localOnly(book)
}

// localOnly checks that local-or-shuffle stayed within the sender's worker, where that has a task of the receiver.
func localOnly(book ledger.Book) error {
	ports := map[int]string{} // of source tasks
	for _, line := range book.Verb("source", "open") {
		ports[line.Task] = line.Cells[1]
	}
	receivers := map[string]bool{} // ports that have a receiving task
	for _, line := range book["by-local"] {
		receivers[line.Cells[0]] = true
	}
	for _, line := range book["by-local"] {
		source, err := strconv.Atoi(line.Cells[2])
		if err != nil {
			return fmt.Errorf("source task of local-or-shuffle: %w", err)
		}
		if receivers[ports[source]] && ports[source] != line.Cells[0] {
			return fmt.Errorf("local-or-shuffle sent row %s from worker %s to worker %s", line.Cells[4], ports[source], line.Cells[0])
		}
	}
	return nil
}

// windowsDone holds when each window bolt wrote its last window: how many there
// are follows from 100 events 10 ms apart.
func windowsDone(book ledger.Book) bool {
	for component, count := range map[string]int{
		"sliding-count": 33, "tumbling-count": 14, "sliding-time": 10, "tumbling-time": 7,
	} {
		if len(book[component]) < count {
			return false
		}
	}
	return true
}

// window is one window: its bounds in event time, and the rows in it.
type window struct {
	Start string `json:"start"`
	End   string `json:"end"`
	Rows  string `json:"rows"`
}

func windows(book ledger.Book) (any, error) {
	out := map[string][]window{}
	for _, component := range []string{"sliding-count", "tumbling-count", "sliding-time", "tumbling-time"} {
		for i, line := range book[component] {
			if line.Cells[0] != strconv.Itoa(i) {
				return nil, fmt.Errorf("%s: window %s came as number %d", component, line.Cells[0], i)
			}
			out[component] = append(out[component], window{line.Cells[1], line.Cells[2], line.Cells[3]})
		}
	}
	return out, nil
}

// stateful reads the sums and checks that checkpoints came as they must.
func stateful(book ledger.Book) (any, error) {
	if failed := len(book.Verb("words", "failed")); failed > 0 {
		return nil, fmt.Errorf("%d rows failed, so sums are not exact", failed)
	}
	last, count, tasks := map[string]string{}, map[string]int{}, tasksBy{}
	for _, line := range book.Verb("sum", "sum") {
		word := line.Cells[0]
		last[word] = line.Cells[1] // a word has one task, and its lines are in order
		count[word]++
		tasks.add(word, line.Task)
	}
	prepared := map[string]bool{}
	commits := 0
	for _, line := range book["sum"] {
		id := fmt.Sprint(line.Task, line.Cells[1:])
		switch line.Cells[0] {
		case "prepare":
			prepared[id] = true
		case "commit":
			commits++
			if !prepared[id] {
				return nil, fmt.Errorf("task %d committed %s without preparing it", line.Task, line.Cells[1])
			}
		}
	}
	if commits == 0 {
		return nil, errors.New("no checkpoint was committed")
	}
	type sum struct {
		Sum   string `json:"sum"`
		Count int    `json:"count"`
		Tasks []int  `json:"tasks"`
	}
	out := map[string]sum{}
	for word := range last {
		out[word] = sum{last[word], count[word], tasks[word]}
	}
	return map[string]any{"sums": out, "seen": len(book["seen"])}, nil
}

// trident reads lines of word, count so far.
func trident(book ledger.Book) (any, error) {
	out := map[string]wordCount{}
	tasks := tasksBy{}
	for _, line := range book["counts"] {
		count, err := strconv.Atoi(line.Cells[1])
		if err != nil {
			return nil, fmt.Errorf("count of %s: %w", line.Cells[0], err)
		}
		tasks.add(line.Cells[0], line.Task)
		out[line.Cells[0]] = wordCount{max(out[line.Cells[0]].Count, count), tasks[line.Cells[0]]}
	}
	return out, nil
}

// ticksDone holds when each of the three tasks had two ticks.
func ticksDone(book ledger.Book) bool {
	count := map[int]int{}
	for _, component := range []string{"own", "topology"} {
		for _, line := range book.Verb(component, "tick") {
			count[line.Task]++
		}
	}
	return len(count) == 3 && slices.Min(slices.Collect(maps.Values(count))) >= 2
}

// ticks gives the kinds of ticks by component and the tasks that got them; how many came depends on time.
func ticks(book ledger.Book) (any, error) {
	out := map[string]any{}
	for _, component := range []string{"own", "topology"} {
		kinds := tasksBy{}
		for _, line := range book.Verb(component, "tick") {
			kinds.add(strings.Join(line.Cells, " "), line.Task)
		}
		out[component] = map[string]any{"ticks": kinds, "rows": len(book.Verb(component, "tuple"))}
	}
	return out, nil
}

// failing counts what failed and what was taken.
func failing(book ledger.Book) (any, error) {
	tasks := tasksBy{}
	for _, line := range book.Verb("picky", "taken") {
		tasks.add(line.Cells[0], line.Task)
	}
	return map[string]any{
		"failed_by_bolt":  len(book.Verb("picky", "failed")),
		"failed_at_spout": len(book.Verb("rows", "failed")),
		"taken":           len(book.Verb("picky", "taken")),
		"tasks":           tasks,
	}, nil
}

// mebibytes reads lines of row, length, checksum, port.
func mebibytes(book ledger.Book) (any, error) {
	if err := once(book, "blocks", "digest", 0, 3); err != nil {
		return nil, err
	}
	blocks, tasks := map[string]string{}, tasksBy{}
	for _, line := range book["digest"] {
		row, digest := line.Cells[0], line.Cells[1]+" "+line.Cells[2]
		if was, ok := blocks[row]; ok && was != digest {
			return nil, fmt.Errorf("row %s came as %s and as %s", row, was, digest)
		}
		blocks[row] = digest
		tasks.add(row, line.Task)
	}
	return map[string]any{"blocks": blocks, "tasks": tasks, "workers": ledger.Distinct(book["digest"], 3)}, nil
}

// manyExecutors reads lines of port, source component, source task, stream, row.
func manyExecutors(book ledger.Book) (any, error) {
	if err := once(book, "rows", "gather", 4, 4); err != nil {
		return nil, err
	}
	rows := map[string]int{} // by task
	for _, line := range book["gather"] {
		rows[strconv.Itoa(line.Task)]++
	}
	return map[string]any{"rows_by_task": rows, "workers": ledger.Distinct(book["gather"], 0)}, nil
}
