// SPDX-License-Identifier: Apache-2.0

// The legacy upload of a JAR: beginFileUpload, uploadChunk, finishFileUpload, and downloadChunk which nobody can use any more.

package nimbus

import (
	"context"
	"fmt"
	"os"
)

// BeginFileUpload opens a new file in the inbox; the answer is its path and names the transfer.
func (n *Nimbus) BeginFileUpload(_ context.Context) (string, error) {
	if err := n.assertLeader(); err != nil {
		return "", err
	}
	file, err := n.inbox.create()
	if err != nil {
		return "", err
	}
	n.uploads.open(file.Name(), file, n.now())
	return file.Name(), nil
}

// UploadChunk adds bytes to a file in the inbox.
func (n *Nimbus) UploadChunk(_ context.Context, location string, chunk []byte) error {
	return n.uploads.use(location, n.now(), func(file **os.File) error {
		if _, err := (*file).Write(chunk); err != nil {
			return fmt.Errorf("write uploaded jar: %w", err)
		}
		return nil
	})
}

// FinishFileUpload closes a file in the inbox. It need not survive a crash: the submit that follows makes the durable copy.
func (n *Nimbus) FinishFileUpload(_ context.Context, location string) error {
	file, err := n.uploads.end(location)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("finish upload of %s: %w", location, err)
	}
	return nil
}

// DownloadChunk belongs to a download that no call opens any more; there is never such a session.
func (n *Nimbus) DownloadChunk(_ context.Context, id string) ([]byte, error) {
	return nil, fmt.Errorf("download session %q: %w", id, errNoSession)
}

// dropUpload gives back an upload that was never finished.
func dropUpload(file *os.File) {
	name := file.Name()
	_ = file.Close()    // its content is thrown away in the next line
	_ = os.Remove(name) // what stays is removed by the inbox cleaner
}
