// SPDX-License-Identifier: Apache-2.0

// Package native is what two Go workers speak with each other in place of Storm's frames: batches of tuples in one frame, values that
// keep their Go types, and credit in the other direction. It opens no connection: that is package link, which also says how two
// workers find out. messaging/DESIGN.md has the bytes.
package native
