// SPDX-License-Identifier: Apache-2.0

// This file lists the scenarios.

package compat

import (
	"github.com/gust-stream/gust/compat-tests/ledger"
)

// scenario is one topology and what is to be seen of it.
type scenario struct {
	// name is the topology's name and the transcript's.
	name string
	// main is the class in org.gust.compat.
	main string
	// done tells whether all results are there.
	done func(ledger.Book) bool
	// outcome makes of the results what must be the same on every cluster and
	// in every run. It ends with an error where a result is wrong in itself.
	outcome func(ledger.Book) (any, error)
}

func scenarios() []scenario {
	return []scenario{
		{"word-count", "WordCount", acked("sentences", 500), words("sentences")},
		{"python-word-count", "PythonWordCount", acked("sentences", 300), words("sentences")},
		{"exclamation", "Exclamation", acked("words", 400), exclamation},
		{"groupings", "Groupings", all(acked("source", 300), acked("director", 300)), groupings},
		{"windows", "Windows", windowsDone, windows},
		{"stateful", "Stateful", acked("words", 400), stateful},
		{"trident-word-count", "TridentWordCount", acked("batches", 12), trident},
		{"ticks", "Ticks", all(acked("rows", 10), ticksDone), ticks},
		{"failing", "Failing", acked("rows", 350), failing},
		{"mebibytes", "Mebibytes", acked("blocks", 12), mebibytes},
		{"many-executors", "ManyExecutors", acked("rows", 2000), manyExecutors},
	}
}

// acked holds when a spout saw so many different rows acked.
func acked(spout string, rows int) func(ledger.Book) bool {
	return func(book ledger.Book) bool {
		return ledger.Distinct(book.Verb(spout, "acked"), 0) == rows
	}
}

// all holds when each condition does.
func all(conditions ...func(ledger.Book) bool) func(ledger.Book) bool {
	return func(book ledger.Book) bool {
		for _, holds := range conditions {
			if !holds(book) {
				return false
			}
		}
		return true
	}
}
