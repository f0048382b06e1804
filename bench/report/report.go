// SPDX-License-Identifier: Apache-2.0

// This file prints a report.

package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Report is what a run says.
type Report struct {
	Machine Machine
	Took    time.Duration
	Results []Result
	Samples Samples
}

// New judges the rows. Notes are by row id.
func New(machine Machine, rows []Row, samples Samples, notes map[string]string, took time.Duration) Report {
	r := Report{Machine: machine, Took: took, Samples: samples}
	for _, row := range rows {
		r.Results = append(r.Results, judge(row, samples, notes[row.ID]))
	}
	return r
}

// Markdown prints the table.
func (r Report) Markdown(out io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n", r.Machine)
	text.WriteString("| what | stock Storm | gust | ratio | to reach | reached |\n|---|---|---|---|---|---|\n")
	for _, res := range r.Results {
		reached := "**no**"
		switch {
		case !res.Measured:
			reached = "not measured"
		case res.Factor == 0:
			reached = "-"
		case res.Reached:
			reached = "yes"
		}
		beside := r.cell(res, res.Stock, res.StockMedian)
		if res.Beside != "" {
			beside = res.Beside + ": " + beside
		}
		gust := r.cell(res, res.Gust, res.GustMedian)
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s |\n", res.Title, beside, gust, res.ratio(), res.Target, reached)
	}
	for _, res := range r.Results {
		if res.Note != "" {
			fmt.Fprintf(&text, "\n%s: %s.\n", res.Title, res.Note)
		}
	}
	fmt.Fprintf(&text, "\nA cell is the median, then the lowest and the highest of so many runs. The whole took %s.\n", r.Took.Round(time.Second))
	_, err := io.WriteString(out, text.String())
	return err
}

// cell is a median with its spread.
func (r Report) cell(res Result, series string, median float64) string {
	samples := r.Samples[series]
	switch len(samples) {
	case 0:
		return "-"
	case 1:
		return amount(res.Unit, samples[0]) + " (1)"
	}
	return fmt.Sprintf("%s (%s to %s, %d)", amount(res.Unit, median), amount(res.Unit, slices.Min(samples)),
		amount(res.Unit, slices.Max(samples)), len(samples))
}

// WriteJSON writes everything, each sample included, to a file.
func (r Report) WriteJSON(path string) error {
	type result struct {
		Row      string  `json:"row"`
		Title    string  `json:"title"`
		Unit     Unit    `json:"unit"`
		Stock    float64 `json:"stock_median,omitempty"`
		Gust     float64 `json:"gust_median"`
		Ratio    float64 `json:"ratio,omitempty"`
		Factor   float64 `json:"target"`
		Target   string  `json:"target_text"`
		Measured bool    `json:"measured"`
		Reached  bool    `json:"reached"`
		Note     string  `json:"note,omitempty"`
	}
	results := make([]result, 0, len(r.Results))
	for _, x := range r.Results {
		results = append(results, result{
			x.ID, x.Title, x.Unit, x.StockMedian, x.GustMedian, x.Ratio, x.Factor, x.Target, x.Measured, x.Reached, x.Note,
		})
	}
	text, err := json.MarshalIndent(map[string]any{
		"machine": r.Machine, "took_seconds": r.Took.Seconds(), "rows": results, "samples": r.Samples,
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}
