// SPDX-License-Identifier: Apache-2.0

// Package sim runs the rules of replicated state (stateapi/replica) for a whole small site in one goroutine: machines with disks, links that
// break, a Nimbus that names epochs, a bolt that checkpoints as Storm does. A seed decides everything that happens. It is for tests: a
// schedule that loses or undoes a committed value prints its seed and its story.
package sim
