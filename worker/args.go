// SPDX-License-Identifier: Apache-2.0

package worker

// This file reads the arguments of a worker's process.

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/gust-stream/gust/localstate"
)

// Args are what a worker is started with; a Java worker gets the same, in the same order.
type Args struct {
	TopologyID string
	// SupervisorID is the assignment id of the supervisor, by which assignments name its slots.
	SupervisorID string
	// SupervisorPort is where the supervisor listens on this host.
	SupervisorPort int
	// Port is the slot.
	Port     int
	WorkerID string
}

// Usage is the form of the arguments.
const Usage = "TOPOLOGY-ID SUPERVISOR-ID SUPERVISOR-PORT PORT WORKER-ID"

// ParseArgs reads the arguments.
func ParseArgs(args []string) (Args, error) {
	if len(args) != 5 {
		return Args{}, fmt.Errorf("a worker takes %s, not %d arguments", Usage, len(args))
	}
	a := Args{TopologyID: args[0], SupervisorID: args[1], WorkerID: args[4]}
	var err1, err2 error
	a.SupervisorPort, err1 = port("supervisor port", args[2])
	a.Port, err2 = port("port", args[3])
	return a, errors.Join(
		localstate.CheckName("topology id", a.TopologyID),
		localstate.CheckName("supervisor id", a.SupervisorID),
		localstate.CheckName("worker id", a.WorkerID), err1, err2,
	)
}

func port(what, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		return 0, fmt.Errorf("%s %q is no port", what, text)
	}
	return n, nil
}
