// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file reads blobs out of Nimbus for the localizer.

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gust-stream/gust/supervisor/localizer"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"
)

// BlobVersion implements localizer.Nimbus.
func (n *nimbus) BlobVersion(ctx context.Context, key string) (int64, error) {
	var version int64
	err := n.call(ctx, func(ctx context.Context, c *leader.Nimbus) error {
		meta, err := c.GetBlobMeta(ctx, key)
		if err == nil {
			version = meta.Version
		}
		return err
	})
	if err != nil {
		return 0, blobError("version", key, err)
	}
	return version, nil
}

// Download implements localizer.Nimbus. The download has a connection of its own until its body is closed.
func (n *nimbus) Download(ctx context.Context, key string) (*localizer.Blob, error) {
	for {
		c, reused, err := n.take(ctx)
		if err != nil {
			return nil, blobError("download", key, err)
		}
		begun, err := c.BeginBlobDownload(ctx, key)
		if err == nil {
			body := &blobBody{ctx: ctx, nimbus: n, conn: c, session: begun.Session}
			return &localizer.Blob{Version: begun.Version, Size: begun.GetDataSize(), Body: body}, nil
		}
		n.give(c, err)
		if isAnswer(err) || !reused || ctx.Err() != nil {
			return nil, blobError("download", key, err)
		}
	}
}

func blobError(what, key string, err error) error {
	if _, unknown := errors.AsType[*storm.KeyNotFoundException](err); unknown {
		return fmt.Errorf("%s of blob %s: %w", what, key, localizer.ErrNotFound)
	}
	return fmt.Errorf("%s of blob %s: %w", what, key, err)
}

// blobBody reads the chunks of one download, one at a time.
type blobBody struct {
	ctx     context.Context //nolint:containedctx // an io.Reader has no other way to be cancelled
	nimbus  *nimbus
	conn    *leader.Nimbus
	session string
	chunk   []byte
	err     error // io.EOF after the last chunk
}

func (b *blobBody) Read(p []byte) (int, error) {
	for len(b.chunk) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		if b.conn == nil {
			return 0, errors.New("read of a closed download")
		}
		b.chunk, b.err = b.conn.DownloadBlobChunk(b.ctx, b.session)
		if b.err == nil && len(b.chunk) == 0 {
			b.err = io.EOF
		}
	}
	n := copy(p, b.chunk)
	b.chunk = b.chunk[n:]
	return n, nil
}

// Close gives the connection back. A download that was not read to its end leaves a session behind that Nimbus drops
// when it has not been used for a while.
func (b *blobBody) Close() error {
	if b.conn == nil {
		return nil
	}
	err := b.err
	if errors.Is(err, io.EOF) {
		err = nil
	}
	b.nimbus.give(b.conn, err)
	b.conn = nil
	return nil
}
