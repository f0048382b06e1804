// SPDX-License-Identifier: Apache-2.0

// This file picks ports.

package testbed

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports picks n ports that are free now and below those that the kernel hands to outgoing connections, which would take them
// while a daemon restarts.
func Ports(n int) ([]int, error) {
	const low, high, tries = 12_000, 32_000, 10_000
	var ports []int
	for range tries {
		if len(ports) == n {
			return ports, nil
		}
		port := low + rand.IntN(high-low)
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", port)) //nolint:noctx // binding does not wait
		if err != nil {
			continue // taken
		}
		defer func() { _ = l.Close() }() // all are held until all are picked
		ports = append(ports, port)
	}
	return nil, errors.New("pick ports: none is free")
}
