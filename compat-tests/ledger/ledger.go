// SPDX-License-Identifier: Apache-2.0

// Package ledger reads what the tasks of a test topology wrote: lines of
// tab-separated cells in OUT/COMPONENT/TASK.INCARNATION.tsv. The Java class
// org.gust.compat.part.Ledger writes them. It does not judge them.
package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Line is one line of a task.
type Line struct {
	Task int
	// Incarnation differs for each start of the task.
	Incarnation string
	Cells       []string
}

// Book is all lines of a run by component, each task's in the order written.
type Book map[string][]Line

// Read reads all files under dir. A last line without its end is left out: its
// writer was killed, or is still at it. A missing folder is an empty book.
func Read(dir string) (Book, error) {
	book := Book{}
	components, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return book, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ledgers: %w", err)
	}
	for _, component := range components {
		files, err := filepath.Glob(filepath.Join(dir, component.Name(), "*.tsv"))
		if err != nil {
			return nil, fmt.Errorf("read ledgers: %w", err)
		}
		for _, file := range files {
			lines, err := readFile(file)
			if err != nil {
				return nil, err
			}
			book[component.Name()] = append(book[component.Name()], lines...)
		}
	}
	return book, nil
}

func readFile(path string) ([]Line, error) {
	number, rest, ok := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".tsv"), ".")
	task, err := strconv.Atoi(number)
	if !ok || err != nil {
		return nil, fmt.Errorf("read ledger %s: its name is not TASK.INCARNATION.tsv", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	var lines []Line
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(line, []byte("\n")) {
			cells := strings.Split(string(line[:len(line)-1]), "\t")
			lines = append(lines, Line{Task: task, Incarnation: rest, Cells: cells})
		}
	}
	return lines, nil
}

// Verb gives the lines of a component whose first cell is verb, without it.
func (b Book) Verb(component, verb string) []Line {
	var found []Line
	for _, line := range b[component] {
		if line.Cells[0] == verb {
			line.Cells = line.Cells[1:]
			found = append(found, line)
		}
	}
	return found
}

// Distinct counts the different values of one cell.
func Distinct(lines []Line, cell int) int {
	seen := map[string]bool{}
	for _, line := range lines {
		seen[line.Cells[cell]] = true
	}
	return len(seen)
}
