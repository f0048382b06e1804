// SPDX-License-Identifier: Apache-2.0

// This file picks ports.

package rig

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// pickPorts picks n ports that are free now and below those that the kernel
// hands to outgoing connections, which would take them while a daemon restarts.
func pickPorts(n int) ([]int, error) {
	const low, high, tries = 20_000, 32_000, 10_000
	var ports []int
	for range tries {
		if len(ports) == n {
			return ports, nil
		}
		port := low + rand.IntN(high-low)
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }() // held until all are picked
		ports = append(ports, port)
	}
	return nil, errors.New("pick ports: none is free")
}
