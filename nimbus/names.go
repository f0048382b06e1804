// SPDX-License-Identifier: Apache-2.0

// Names and keys: how a topology's id is made, and the keys of its three blobs.

package nimbus

import (
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"
)

// newTopologyID makes the id of the n-th topology that this process took in.
func newTopologyID(name string, n int64, now time.Time) string {
	return fmt.Sprintf("%s-%d-%d", name, n, now.Unix())
}

func jarKey(id string) string  { return id + "-stormjar.jar" }
func codeKey(id string) string { return id + "-stormcode.ser" }
func confKey(id string) string { return id + "-stormconf.ser" }

// topologyKeys are the keys of all blobs of a topology.
func topologyKeys(id string) []string { return []string{jarKey(id), codeKey(id), confKey(id)} }

// topologyOfKey returns the id of the topology that a blob belongs to by its key.
func topologyOfKey(key string) (id string, ok bool) {
	for _, suffix := range topologyKeys("") {
		if id, ok = strings.CutSuffix(key, suffix); ok {
			return id, true
		}
	}
	return "", false
}

func blobField(key string) zap.Field { return zap.String("blob", key) }

func topologyField(id string) zap.Field { return zap.String("topology_id", id) }
