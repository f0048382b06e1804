// SPDX-License-Identifier: Apache-2.0

// Access to blobs: the access lists that clients set, brought into the form that Storm stores.

package nimbus

import (
	"context"
	"fmt"

	"github.com/gust-stream/gust/nimbus/blobstore"
	"github.com/gust-stream/gust/thrift/storm"
)

// The bits of an access list.
const (
	accessRead  int32 = 1
	accessWrite int32 = 2
	accessAdmin int32 = 4
	accessAll         = accessRead | accessWrite | accessAdmin
)

// normalizeACL returns the access list that is stored for what a caller without a name asked for: entries for others without any
// right are dropped, a user named twice is refused, and because nobody owns the blob, an entry is added by which everybody may do
// everything with it. What was asked for stays in the list, so that commands show the list that Storm's Nimbus would.
func normalizeACL(meta *storm.SettableBlobMeta) (*storm.SettableBlobMeta, error) {
	out := &storm.SettableBlobMeta{Acl: []*storm.AccessControl{}}
	if meta == nil {
		meta = out
	}
	out.ReplicationFactor = meta.ReplicationFactor
	users := map[string]bool{}
	everybody := false
	for _, entry := range meta.Acl {
		switch {
		case entry == nil:
			continue
		case entry.Access&^accessAll != 0:
			return nil, denied(fmt.Sprintf("access %d of an access list entry has unknown bits", entry.Access))
		case entry.Type == storm.AccessControlType_USER:
			if users[entry.GetName()] {
				return nil, denied(fmt.Sprintf("user %s can't appear more than once in the ACLs", entry.GetName()))
			}
			users[entry.GetName()] = true
		case entry.Access == 0:
			continue
		default:
			everybody = everybody || entry.Access == accessAll
		}
		out.Acl = append(out.Acl, entry)
	}
	if !everybody {
		out.Acl = append(out.Acl, &storm.AccessControl{Type: storm.AccessControlType_OTHER, Access: accessAll})
	}
	return out, nil
}

// mayBlob checks that a blob exists and that the caller has the rights named by bits. Callers have no names yet, so lists are
// enforced only where the cluster asks for it, against the rights of others.
func (n *Nimbus) mayBlob(ctx context.Context, key string, bits int32) error {
	if err := n.ready(); err != nil {
		return err
	}
	if err := blobstore.CheckKey(key); err != nil {
		return err
	}
	if !n.blobs.Has(key) {
		return &storm.KeyNotFoundException{Msg: key}
	}
	if !n.cfg.EnforceACL {
		return nil
	}
	meta, err := n.blobs.Meta(ctx, key)
	if err != nil {
		return blobError(key, err)
	}
	for _, entry := range meta.Acl {
		if entry.Type == storm.AccessControlType_OTHER && entry.Access&bits == bits {
			return nil
		}
	}
	return denied(fmt.Sprintf("the caller does not have access %d to blob %s", bits, key))
}
