// SPDX-License-Identifier: Apache-2.0

package executor

// child is a task's child process, as the parts that all tasks share see it.
type child interface {
	settle(id any, acked bool)
}
