// SPDX-License-Identifier: Apache-2.0

// Package streamparse runs a streamparse project, as its own quickstart makes it, with streamparse's own commands: submit, list and
// kill reach gust's Nimbus, and the components run under Java workers and under Go workers.
package streamparse
