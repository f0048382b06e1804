// SPDX-License-Identifier: Apache-2.0

// Package twin kills stock workers that have a twin (gust.worker.twin.enabled)
// and looks at who follows. Everything here is test code; how long it takes is
// measured by `make bench`.
package twin
