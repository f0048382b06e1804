// SPDX-License-Identifier: Apache-2.0

package link

// This file holds how two Go workers find out about each other. The first thing that a server says is its back-pressure, in which it
// names its worker; a Java client only logs that name.

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/messaging/native"
)

// greeting comes after the worker's id, followed by the highest version that the server speaks.
const greeting = " gust/"

// greet is a worker's id with the greeting.
func greet(worker string) string { return worker + greeting + strconv.Itoa(native.Version) }

// greeted is the version to speak with a server, 0 for Storm's own frames.
func greeted(worker string) int {
	_, text, ok := strings.Cut(worker, greeting)
	if !ok {
		return 0
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 {
		return 0
	}
	return min(v, native.Version)
}

// proposal is what an Upgrade frame holds: the version from here on, the client's first and then the server's.
func proposal(version int) []byte { return []byte{byte(version)} } //nolint:gosec // versions are small

func checkProposal(b []byte) error {
	if len(b) < 1 || b[0] < 1 || int(b[0]) > native.Version {
		return fmt.Errorf("a proposal of % x, at most version %d is known", b, native.Version)
	}
	return nil
}
