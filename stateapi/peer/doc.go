// SPDX-License-Identifier: Apache-2.0

// Package peer carries keyed state between the supervisors of a site: a Keeper has copies of other machines' shards on its disk, Owners sends
// an owner's changes to them, and a Fetch brings a lost owner's shards from many keepers at once. Who may do what, and when, is
// stateapi/replica's; this package has the disks and the connections. It stands for nothing in Storm.
package peer
