// SPDX-License-Identifier: Apache-2.0

// The blob store's calls: what supervisors download, and what users put beside their topologies.

package nimbus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/uuid"

	"github.com/gust-stream/gust/nimbus/blobstore"
	"github.com/gust-stream/gust/thrift/storm"
)

const (
	// downloadChunk is how many bytes one downloadBlobChunk returns; Storm's storm.blobstore.inputstream.buffer.size.bytes.
	downloadChunk = 64 << 10
	// listedKeys is how many keys one listBlobs returns at most.
	listedKeys = 100
)

// BeginCreateBlob starts the upload of a new blob and returns its session.
func (n *Nimbus) BeginCreateBlob(ctx context.Context, key string, meta *storm.SettableBlobMeta) (string, error) {
	if err := n.ready(); err != nil {
		return "", err
	}
	acl, err := normalizeACL(meta)
	if err != nil {
		return "", err
	}
	upload, err := n.blobs.Create(ctx, key, acl)
	if err != nil {
		return "", blobError(key, err)
	}
	return n.openUpload(key, upload, true), nil
}

// BeginUpdateBlob starts a new content of an existing blob.
func (n *Nimbus) BeginUpdateBlob(ctx context.Context, key string) (string, error) {
	if err := n.mayBlob(ctx, key, accessWrite); err != nil {
		return "", err
	}
	upload, err := n.blobs.Update(key)
	if err != nil {
		return "", blobError(key, err)
	}
	return n.openUpload(key, upload, false), nil
}

func (n *Nimbus) openUpload(key string, upload *blobstore.Upload, fresh bool) (session string) {
	session = uuid.NewString()
	n.blobUploads.open(session, &blobUpload{key: key, fresh: fresh, upload: upload}, n.now())
	return session
}

// blobUpload is a blob on its way in.
type blobUpload struct {
	key    string
	fresh  bool
	upload *blobstore.Upload
}

// UploadBlobChunk adds bytes to a blob.
func (n *Nimbus) UploadBlobChunk(_ context.Context, session string, chunk []byte) error {
	return n.blobUploads.use(session, n.now(), func(u **blobUpload) error {
		_, err := (*u).upload.Write(chunk)
		return err
	})
}

// FinishBlobUpload makes an uploaded blob the content of its key, durably. A new key is announced in the cluster state here, not
// only by the createStateInZookeeper that follows: a crash between the two calls must not lose an acknowledged blob.
func (n *Nimbus) FinishBlobUpload(ctx context.Context, session string) error {
	u, err := n.blobUploads.end(session)
	if err != nil {
		return err
	}
	if err := u.upload.Commit(); err != nil {
		return blobError(u.key, err)
	}
	if u.fresh {
		return n.announceBlob(ctx, u.key)
	}
	return nil
}

// CancelBlobUpload gives an upload up.
func (n *Nimbus) CancelBlobUpload(_ context.Context, session string) error {
	u, err := n.blobUploads.end(session)
	if err != nil {
		return err
	}
	u.upload.Abort()
	return nil
}

// CreateStateInZookeeper announces the new content of a blob to the other Nimbuses. An unknown key is only logged, as in Storm.
func (n *Nimbus) CreateStateInZookeeper(ctx context.Context, key string) error {
	if !n.blobs.Has(key) {
		n.log.Warn("state of an unknown blob asked for", blobField(key))
		return nil
	}
	return n.announceBlob(ctx, key)
}

func (n *Nimbus) announceBlob(ctx context.Context, key string) error {
	sequence, err := n.cluster.BlobSequence(ctx, key)
	if err != nil {
		return fmt.Errorf("announce blob %q: %w", key, err)
	}
	if err := n.cluster.AddBlob(ctx, key, n.self, sequence+1); err != nil {
		return fmt.Errorf("announce blob %q: %w", key, err)
	}
	return nil
}

// GetBlobMeta returns the access list and the version of a blob.
func (n *Nimbus) GetBlobMeta(ctx context.Context, key string) (*storm.ReadableBlobMeta, error) {
	if err := n.ready(); err != nil {
		return nil, err
	}
	meta, err := n.blobs.Meta(ctx, key)
	if err != nil {
		return nil, blobError(key, err)
	}
	version, err := n.blobs.Version(key)
	if err != nil {
		return nil, blobError(key, err)
	}
	return &storm.ReadableBlobMeta{Settable: meta, Version: version}, nil
}

// SetBlobMeta replaces the access list of a blob.
func (n *Nimbus) SetBlobMeta(ctx context.Context, key string, meta *storm.SettableBlobMeta) error {
	if err := n.mayBlob(ctx, key, accessAdmin); err != nil {
		return err
	}
	acl, err := normalizeACL(meta)
	if err != nil {
		return err
	}
	return blobError(key, n.blobs.SetMeta(ctx, key, acl))
}

// BeginBlobDownload opens a blob and returns its session with the size, which supervisors compare with what they got.
func (n *Nimbus) BeginBlobDownload(ctx context.Context, key string) (*storm.BeginDownloadResult_, error) {
	if err := n.mayBlob(ctx, key, accessRead); err != nil {
		return nil, err
	}
	blob, err := n.blobs.Open(key)
	if err != nil {
		return nil, blobError(key, err)
	}
	session := uuid.NewString()
	n.blobDownloads.open(session, blob, n.now())
	return &storm.BeginDownloadResult_{Version: blob.Version, Session: session, DataSize: &blob.Size}, nil
}

// DownloadBlobChunk returns the next bytes of a blob; none means that it is complete, and ends the session.
func (n *Nimbus) DownloadBlobChunk(_ context.Context, session string) ([]byte, error) {
	chunk := make([]byte, downloadChunk)
	err := n.blobDownloads.use(session, n.now(), func(blob **blobstore.Blob) error {
		got, err := io.ReadFull(*blob, chunk)
		chunk = chunk[:got]
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("download a blob: %w", err)
	}
	if len(chunk) == 0 {
		if blob, err := n.blobDownloads.end(session); err == nil {
			_ = blob.Close() // only read
		}
	}
	return chunk, nil
}

// DeleteBlob removes a blob, unless a living topology needs it.
func (n *Nimbus) DeleteBlob(ctx context.Context, key string) error {
	if err := n.mayBlob(ctx, key, accessWrite); err != nil {
		return err
	}
	if id, ok := topologyOfKey(key); ok && n.model.keepsBlobs(id) {
		return &storm.IllegalStateException{Msg: fmt.Sprintf("Attempting to delete a blob of topology %s, which is not dead: %s", id, key)}
	}
	if id := n.userOfBlob(key); id != "" {
		return &storm.IllegalStateException{Msg: fmt.Sprintf("Attempting to delete blob %s, which topology %s uses", key, id)}
	}
	return n.removeBlob(ctx, key)
}

// removeBlob forgets a blob in the cluster state first: a crash in between leaves a file that the next start removes.
func (n *Nimbus) removeBlob(ctx context.Context, key string) error {
	if !n.blobs.Has(key) {
		return blobError(key, fmt.Errorf("delete blob %q: %w", key, blobstore.ErrNotFound))
	}
	if err := n.cluster.RemoveBlob(ctx, key); err != nil {
		return fmt.Errorf("delete blob %q: %w", key, err)
	}
	return blobError(key, n.blobs.Delete(key))
}

// userOfBlob returns the id of a living topology whose workers want this blob, or "".
func (n *Nimbus) userOfBlob(key string) string {
	for _, t := range n.model.all() {
		if _, uses := blobMap(t.code.conf)[key]; uses {
			return t.id
		}
		if slices.Contains(t.code.user.DependencyJars, key) || slices.Contains(t.code.user.DependencyArtifacts, key) {
			return t.id
		}
	}
	return ""
}

// ListBlobs returns up to a hundred keys, those the caller may read, and the session to go on with; no key ends it.
func (n *Nimbus) ListBlobs(ctx context.Context, session string) (*storm.ListBlobsResult_, error) {
	if session == "" {
		var keys []string
		for _, key := range n.blobs.Keys() {
			if n.mayBlob(ctx, key, accessRead) == nil {
				keys = append(keys, key)
			}
		}
		session = uuid.NewString()
		n.blobLists.open(session, keys, n.now())
	}
	var page []string
	err := n.blobLists.use(session, n.now(), func(rest *[]string) error {
		page = (*rest)[:min(listedKeys, len(*rest))]
		*rest = (*rest)[len(page):]
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list blobs: %w", err)
	}
	if len(page) == 0 {
		_, _ = n.blobLists.end(session) // it may have ended by time in between, which is the same
		page = []string{}
	}
	return &storm.ListBlobsResult_{Keys: page, Session: session}, nil
}

// GetBlobReplication is the number of Nimbuses that hold a blob: here always one.
func (n *Nimbus) GetBlobReplication(ctx context.Context, key string) (int32, error) {
	if err := n.mayBlob(ctx, key, accessRead); err != nil {
		return 0, err
	}
	return 1, nil
}

// UpdateBlobReplication cannot change what the local store does; Storm's local store refuses it as well.
func (n *Nimbus) UpdateBlobReplication(ctx context.Context, key string, _ int32) (int32, error) {
	if err := n.mayBlob(ctx, key, accessAdmin); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("change the replication of blob %q: the local blob store holds one copy", key)
}

// IsRemoteBlobExists says whether there is a blob of this key.
func (n *Nimbus) IsRemoteBlobExists(_ context.Context, key string) (bool, error) {
	if err := n.ready(); err != nil {
		return false, err
	}
	return n.blobs.Has(key), nil
}
