// SPDX-License-Identifier: Apache-2.0

// Package lifecycle says what an event does to a topology: which status comes
// next, what has to be done, and which event follows after which delay. It is
// pure: [Next] takes the topology's StormBase and an event and answers a list of
// actions; nimbus carries them out.
//
// It is not a timer, does not write the cluster state and does not check
// options of a rebalance (nimbus does, it knows the components). It stands for
// the transition table inside Storm's Nimbus, TopologyActions and
// TopologyStateTransition. The nimbus package calls it.
//
// The table, with what each step does; an empty cell is [*NoTransitionError]:
//
//	              ACTIVE      INACTIVE    REBALANCING       KILLED
//	ACTIVATE      nothing     ACTIVE
//	INACTIVATE    INACTIVE    nothing
//	REBALANCE     REBALANCING, then DO_REBALANCE after the wait
//	DO_REBALANCE                          former status
//	KILL          KILLED, then REMOVE after the wait, in every status
//	REMOVE                                                  gone
//	GAIN_LEADERSHIP                       DO_REBALANCE, REMOVE after the whole wait again
//
// Actions come in the order in which they are safe to carry out one by one: the
// base is written before a timer is set, so a crash between the two is healed by
// GAIN_LEADERSHIP; a rebalance keeps its status until it is done, so a crash
// in the middle repeats it. Storm sets the timer first and writes afterwards.
package lifecycle
