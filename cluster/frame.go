// SPDX-License-Identifier: Apache-2.0

// What a supervisor tells Nimbus beyond Storm's own fields: how large a frame it takes.

package cluster

import (
	"maps"
	"strconv"

	"github.com/gust-stream/gust/thrift/storm"
)

// frameMeta is the name in a supervisor's scheduler meta under which its bound on frames stands. Storm's schedulers pass over names
// that they do not know.
const frameMeta = "gust.thrift.max_buffer_size"

// SetMaxFrame notes in a supervisor's entry how many bytes it takes in one frame, pushed or asked for.
func SetMaxFrame(info *storm.SupervisorInfo, size int) {
	meta := maps.Clone(info.SchedulerMeta)
	if meta == nil {
		meta = map[string]string{}
	}
	meta[frameMeta] = strconv.Itoa(size)
	info.SchedulerMeta = meta
}

// MaxFrame is what a supervisor's entry says of that, or least where it says nothing: it is one of Apache Storm then.
func MaxFrame(info *storm.SupervisorInfo, least int) int {
	if info == nil {
		return least
	}
	size, err := strconv.Atoi(info.SchedulerMeta[frameMeta])
	if err != nil {
		return least
	}
	return max(size, least)
}
