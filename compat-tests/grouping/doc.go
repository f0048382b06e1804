// SPDX-License-Identifier: Apache-2.0

// Package grouping proves that gust's groupings choose the tasks that Storm's own groupers choose, and that its executor statistics are
// rendered as Storm's are: both live through the same made-up events. It is not for import.
package grouping
