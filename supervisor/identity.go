// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file gives a supervisor its id, once for the life of its disk.

import (
	"fmt"
	"net"
	"os"

	"github.com/google/uuid"

	"github.com/gust-stream/gust/localstate"
)

// identity reads the supervisor's id, or makes one and keeps it. The id ends with the machine's address, as Storm's do.
func identity(store *localstate.Store) (string, error) {
	id, err := store.SupervisorID()
	if err != nil {
		return "", fmt.Errorf("read supervisor id: %w", err)
	}
	if id != "" {
		if err := localstate.CheckName("supervisor id", id); err != nil {
			return "", fmt.Errorf("read supervisor id in %s: %w", store.Dir(), err)
		}
		return id, nil
	}
	random, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("make supervisor id: %w", err)
	}
	id = random.String() + "-" + ownAddress()
	if err := store.SetSupervisorID(id); err != nil {
		return "", fmt.Errorf("keep supervisor id: %w", err)
	}
	return id, nil
}

// ownAddress is what the machine's own name resolves to, or the loopback address when it does not.
func ownAddress() string {
	const loopback = "127.0.0.1"
	name, err := os.Hostname()
	if err != nil {
		return loopback
	}
	addrs, err := net.LookupHost(name) //nolint:noctx // once in the life of a disk
	if err != nil {
		return loopback
	}
	for _, addr := range addrs {
		if ip := net.ParseIP(addr); ip != nil && ip.To4() != nil {
			return addr
		}
	}
	return loopback
}
