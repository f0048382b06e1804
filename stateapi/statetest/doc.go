// SPDX-License-Identifier: Apache-2.0

// Package statetest is the contract of keyed state as tests. testdata/cases.json has them as steps with what each must answer, for clients
// in any language; [Run] plays them against a client in Go. [Memory] is the contract in memory: the model of property tests, and a
// state for tests of bolts.
//
// A case has a number that stays, a name, and steps. A case begins with a state that nobody has used: topology "case-<number>-" with something
// random, owner "alice", component "count", task 4 of 4 tasks, the default number of shards, encoder "bytes". A step does one thing ("do") on the state
// that the handle "by" has open ("a" where nothing is said). It must fail with "error" (fenced, unknownPrepare, encoder, tasks, tooLarge), or, without
// one, succeed.
//
//	open       opens; topology (a suffix), owner, component, task, tasks, encoder differ from the above if they are given
//	close      closes the handle's state
//	put        key, value
//	delete     key
//	get        key; want: the value, null if there must be none
//	all        iterates; want: all pairs, in any order
//	count      iterates; want: the number of keys, no key twice
//	prepare    txid
//	commit     txid
//	commitNow
//	rollback
//	fill       puts for each number from (with) to (without) its decimal digits as key, value followed by the digits as value
//	wipe       deletes those keys
//	holds      gets those keys: each has the value that fill gives it
//	lacks      gets those keys: there is none
//	kill       the server is killed and started again
//	stop       the server ends in order and is started again
//	retire     the server ends, loses its arena, and makes another one from its files
//
// Keys and values are strings, of which the UTF-8 counts; or {"hex": digits}; or {"repeat": string, "length": bytes}, the string over
// and over, cut at length.
package statetest
