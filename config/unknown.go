// SPDX-License-Identifier: Apache-2.0

// Keys that nobody knows: most often a slip of the pen.

package config

import (
	"fmt"
	"strings"
)

// UnknownKeys returns one warning for each key of conf that looks like Storm's or gust's (by its first word) but is in no table,
// sorted. With a near match the warning names it. Such keys are kept: a later release or a plug-in may know them.
func UnknownKeys(conf Conf) []string {
	first := make(map[string]bool)
	for i := range keyTable {
		word, _, _ := strings.Cut(keyTable[i].key, ".")
		first[word] = true
	}
	var out []string
	for _, key := range conf.Keys() {
		word, _, dotted := strings.Cut(key, ".")
		if _, known := lookup(key); known || key == StormHome || !dotted || !first[word] {
			continue
		}
		if near := nearest(key); near != "" {
			out = append(out, fmt.Sprintf("unknown key %s: did you mean %s?", key, near))
		} else {
			out = append(out, "unknown key "+key)
		}
	}
	return out
}

// maxSlips is how many letters may differ between a key and the one that is proposed for it.
const maxSlips = 2

// nearest finds the key with the fewest slips, "" if none is near.
func nearest(key string) string {
	best, slips := "", maxSlips+1
	for i := range keyTable {
		k := keyTable[i].key
		if d := len(k) - len(key); d > maxSlips || d < -maxSlips {
			continue
		}
		if n := editDistance(key, k); n < slips {
			best, slips = k, n
		}
	}
	return best
}

// editDistance counts the insertions, deletions and changes of a byte that lead from a to b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(row[j+1]+1, row[j]+1, change)
		}
	}
	return row[len(b)]
}
