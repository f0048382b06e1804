// SPDX-License-Identifier: Apache-2.0

// This file says what a row is and judges it.

package report

import (
	"fmt"
	"slices"
	"time"
)

// Unit is what a row's samples count.
type Unit string

// The units.
const (
	Seconds   Unit = "s"
	Bytes     Unit = "bytes"
	PerSecond Unit = "1/s"
	Cores     Unit = "cores"
	PerEntry  Unit = "bytes an entry"
)

// Row is one line of the table.
type Row struct {
	ID    string
	Title string
	// Stock and Gust name the series that are compared. Without Stock gust has to reach the target by itself.
	Stock, Gust string
	// Beside says what the series Stock is of, if not of stock Storm.
	Beside string
	Unit   Unit
	// Alone has gust reach the target by itself though there is something to compare with.
	Alone bool
	// Factor is the target: gust's median over stock's at most (seconds,
	// bytes, cores) or at least (per second); if gust is to reach it by itself it is the most or least
	// that gust's median may be, in the row's unit. 0: the row is only printed.
	Factor float64
	// Target is Factor in words.
	Target string
}

// Samples are what was measured, by series.
type Samples map[string][]float64

// Add adds one sample.
func (s Samples) Add(series string, value float64) { s[series] = append(s[series], value) }

// AddTime adds one duration, in seconds.
func (s Samples) AddTime(series string, d time.Duration) { s.Add(series, d.Seconds()) }

// Median is the middle of the samples, the mean of both middles if they are
// even in number.
func Median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Result is a row with its numbers.
type Result struct {
	Row
	StockMedian, GustMedian float64
	// Ratio is gust's median over stock's.
	Ratio    float64
	Reached  bool
	Measured bool
	Note     string
}

// judge compares a row's medians with its target.
func judge(row Row, samples Samples, note string) Result {
	r := Result{Row: row, Note: note}
	gust, stock := samples[row.Gust], samples[row.Stock]
	r.StockMedian, r.GustMedian = Median(stock), Median(gust)
	if len(gust) == 0 || (row.Stock != "" && len(stock) == 0) {
		return r
	}
	r.Measured = true
	value := r.GustMedian
	if row.Stock != "" {
		r.Ratio = r.GustMedian / r.StockMedian
		if !row.Alone {
			value = r.Ratio
		}
	}
	r.Reached = value <= row.Factor
	if row.Unit == PerSecond {
		r.Reached = value >= row.Factor
	}
	return r
}

// ratio is a ratio for people: a fraction for what should be small.
func (r Result) ratio() string {
	switch {
	case !r.Measured || r.Stock == "":
		return "-"
	case r.Unit == PerSecond && r.Ratio < 2:
		return fmt.Sprintf("%.2f times", r.Ratio)
	case r.Unit == PerSecond:
		return fmt.Sprintf("%.1f times", r.Ratio)
	case r.Ratio >= 0.3:
		return fmt.Sprintf("%.2f", r.Ratio)
	default:
		return fmt.Sprintf("1/%.1f", 1/r.Ratio)
	}
}

// amount is a number of a unit for people.
func amount(unit Unit, v float64) string {
	switch {
	case unit == Bytes:
		return fmt.Sprintf("%.1f MB", v/1e6)
	case unit == PerEntry:
		return fmt.Sprintf("%.1f B", v)
	case unit == Cores:
		return fmt.Sprintf("%.2g %% of a core", v*100)
	case unit == PerSecond && v >= 1e6:
		return fmt.Sprintf("%.2f million/s", v/1e6)
	case unit == PerSecond && v >= 100:
		return fmt.Sprintf("%.0f/s", v)
	case unit == PerSecond:
		return fmt.Sprintf("%.1f/s", v)
	case v < 1:
		return fmt.Sprintf("%.3g ms", v*1000)
	default:
		return fmt.Sprintf("%.2f s", v)
	}
}
