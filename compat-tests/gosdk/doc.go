// SPDX-License-Identifier: Apache-2.0

// Package gosdk runs a topology of Go components on stock Java workers, which know them only as programs that speak multilang, and on Go
// workers, which are the topology's binary. gust is the control plane. Command numbers is the topology; it writes down what it saw, and the test judges that.
package gosdk
