// SPDX-License-Identifier: Apache-2.0

package openfiles_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/gust-stream/gust/internal/openfiles"
)

// takeAll takes until there is none left.
func takeAll(s *openfiles.Share) (n int) {
	for s.Take() {
		n++
	}
	return n
}

func TestOneShareLeavesTheOthersTheirOwn(t *testing.T) {
	t.Parallel()
	files := openfiles.New(1024)
	greedy, other := files.Share(), files.Share()
	if n := takeAll(greedy); n != 1024-256-64 {
		t.Errorf("the greedy one got %d", n)
	}
	if n := takeAll(other); n != 64 {
		t.Errorf("the other got %d, not its own 64", n)
	}
	greedy.Give()
	if !other.Take() || other.Take() {
		t.Error("what the greedy one gave back was not for the other")
	}
	var none *openfiles.Share
	if !none.Take() {
		t.Error("no share has a bound")
	}
	none.Give()
}

// TestNeverMoreThanTheLimit takes and gives in any order: the sum stays below the limit, and what all gave back is there again.
func TestNeverMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 200).Draw(t, "limit")
		files := openfiles.New(limit)
		shares := []*openfiles.Share{files.Share(), files.Share(), files.Share()}
		taken := make([]int, len(shares))
		sum := 0
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			i := rapid.IntRange(0, len(shares)-1).Draw(t, "share")
			switch {
			case rapid.Bool().Draw(t, "take"):
				if shares[i].Take() {
					taken[i]++
					sum++
				}
			case taken[i] > 0:
				shares[i].Give()
				taken[i]--
				sum--
			}
			if most := limit - limit/4; sum > most {
				t.Fatalf("%d of %d are taken, more than %d", sum, limit, most)
			}
		}
		for i, s := range shares {
			for range taken[i] {
				s.Give()
			}
		}
		all := 0
		for _, s := range shares {
			all += takeAll(s)
		}
		if all != limit-limit/4 {
			t.Fatalf("%d of %d are there after all were given back", all, limit)
		}
	})
}

func TestOfProcess(t *testing.T) {
	t.Parallel()
	files, err := openfiles.OfProcess()
	if err != nil || !files.Share().Take() {
		t.Errorf("no file may be opened: %v", err)
	}
}
