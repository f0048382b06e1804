// SPDX-License-Identifier: Apache-2.0

// Package footprint gives back memory that only a process's start has needed: free heap, and the pages of its own program file. Starting runs
// through initializers and tables that an idle daemon never looks at again; what it does look at comes back from the page cache, page by page.
package footprint
