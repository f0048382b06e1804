// SPDX-License-Identifier: Apache-2.0

// Package localstate proves that Storm's own LocalState class reads what gust's
// supervisor writes to its disk, and the other way round, in one folder that the
// two take turns with. It is not for import.
package localstate
