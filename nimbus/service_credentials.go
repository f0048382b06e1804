// SPDX-License-Identifier: Apache-2.0

// Credentials of running topologies. They go into the cluster state and never leave through a call.

package nimbus

import (
	"context"
	"fmt"
	"maps"

	"github.com/gust-stream/gust/thrift/storm"
)

// UploadNewCredentials adds credentials to those of a topology; its workers fetch them by themselves.
func (n *Nimbus) UploadNewCredentials(ctx context.Context, name string, creds *storm.Credentials) error {
	if err := n.ready(); err != nil {
		return err
	}
	t := n.model.byName(name)
	if t == nil {
		return unknownName(name)
	}
	if owner := creds.GetTopoOwner(); owner != "" && owner != t.base.GetOwner() {
		return denied(fmt.Sprintf("credentials are for owner %s, but topology %s belongs to %s", owner, name, t.base.GetOwner()))
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	old, err := n.cluster.Credentials(ctx, t.id)
	if err != nil {
		return err
	}
	next := &storm.Credentials{Creds: map[string]string{}}
	if old != nil {
		maps.Copy(next.Creds, old.Creds)
	}
	maps.Copy(next.Creds, creds.GetCreds())
	return n.cluster.SetCredentials(ctx, t.id, next)
}
