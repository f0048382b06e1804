// SPDX-License-Identifier: Apache-2.0

// Command topology has the components of the bench in Go: a spout that emits at a rate and notes how its acks come, and a bolt that
// acks and counts. They do what org.gust.compat.part.RateSpout and TallyBolt do in Java, by the same conf, into the same files.
package main
