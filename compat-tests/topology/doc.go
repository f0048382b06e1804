// SPDX-License-Identifier: Apache-2.0

// Package topology compares package topology with Storm's StormCommon, Nimbus
// and resource classes: the same generated topologies and confs go to both.
package topology
