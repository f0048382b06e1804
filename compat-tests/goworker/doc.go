// SPDX-License-Identifier: Apache-2.0

// Package goworker runs topologies without Java in them under a real gust: components in Python, submitted through Thrift, on
// Go workers. Everything here is test code.
package goworker
