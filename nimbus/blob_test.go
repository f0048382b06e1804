// SPDX-License-Identifier: Apache-2.0

package nimbus_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/gust-stream/gust/nimbus/nimbustest"
	"github.com/gust-stream/gust/thrift/storm"
)

func putBlob(t *testing.T, c *storm.NimbusClient, key, content string) {
	t.Helper()
	session, err := c.BeginCreateBlob(t.Context(), key, &storm.SettableBlobMeta{Acl: []*storm.AccessControl{}})
	if err != nil {
		t.Fatalf("create %s: %v", key, err)
	}
	if err := c.UploadBlobChunk(t.Context(), session, []byte(content)); err != nil {
		t.Fatalf("upload %s: %v", key, err)
	}
	if err := c.FinishBlobUpload(t.Context(), session); err != nil {
		t.Fatalf("finish %s: %v", key, err)
	}
	if err := c.CreateStateInZookeeper(t.Context(), key); err != nil {
		t.Fatalf("announce %s: %v", key, err)
	}
}

// getBlob downloads the blob "words".
func getBlob(t *testing.T, c *storm.NimbusClient) string {
	t.Helper()
	const key = "words"
	begun, err := c.BeginBlobDownload(t.Context(), key)
	if err != nil {
		t.Fatalf("download %s: %v", key, err)
	}
	var content bytes.Buffer
	for {
		chunk, err := c.DownloadBlobChunk(t.Context(), begun.Session)
		if err != nil {
			t.Fatalf("download %s: %v", key, err)
		}
		if len(chunk) == 0 {
			break
		}
		content.Write(chunk)
	}
	if int64(content.Len()) != begun.GetDataSize() {
		t.Errorf("%s has %d bytes, announced were %d", key, content.Len(), begun.GetDataSize())
	}
	if _, err := c.DownloadBlobChunk(t.Context(), begun.Session); err == nil {
		t.Errorf("the session of a finished download goes on")
	}
	return content.String()
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	content := strings.Repeat("0123456789abcdef", 10_000)
	putBlob(t, c, "words", content)
	if got := getBlob(t, c); got != content {
		t.Errorf("downloaded %d bytes of %d", len(got), len(content))
	}
	meta, err := c.GetBlobMeta(t.Context(), "words")
	if err != nil || len(meta.Settable.Acl) != 1 || meta.Settable.Acl[0].Access != 7 {
		t.Errorf("meta is %v, %v", meta, err)
	}
	session, err := c.BeginUpdateBlob(t.Context(), "words")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.UploadBlobChunk(t.Context(), session, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got := getBlob(t, c); got != content {
		t.Errorf("an unfinished update shows")
	}
	if err := c.FinishBlobUpload(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if got := getBlob(t, c); got != "new" {
		t.Errorf("after the update there is %q", got)
	}
	changed, err := c.GetBlobMeta(t.Context(), "words")
	if err != nil || changed.Version == meta.Version {
		t.Errorf("version %d did not change with the content, %v", meta.Version, err)
	}
	site.StopNimbus()
	site.StartNimbus(t, nil)
	c = site.Client(t)
	if got := getBlob(t, c); got != "new" {
		t.Errorf("after a restart there is %q", got)
	}
	if err := c.DeleteBlob(t.Context(), "words"); err != nil {
		t.Fatal(err)
	}
	if there, err := c.IsRemoteBlobExists(t.Context(), "words"); err != nil || there {
		t.Errorf("after the delete the blob is there: %v, %v", there, err)
	}
}

func TestBlobFaults(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	id := nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	putBlob(t, c, "words", "x")
	ctx := t.Context()
	missing := func(err error) bool {
		e, ok := errors.AsType[*storm.KeyNotFoundException](err)
		return ok && e.Msg == "none"
	}
	internal := func(err error) bool {
		var app thrift.TApplicationException
		return errors.As(err, &app) && app.TypeId() == thrift.INTERNAL_ERROR
	}
	calls := []struct {
		name string
		call func() error
		want func(error) bool
	}{
		{"MetaOfNone", func() error { _, err := c.GetBlobMeta(ctx, "none"); return err }, missing},
		{"DownloadNone", func() error { _, err := c.BeginBlobDownload(ctx, "none"); return err }, missing},
		{"UpdateNone", func() error { _, err := c.BeginUpdateBlob(ctx, "none"); return err }, missing},
		{"DeleteNone", func() error { return c.DeleteBlob(ctx, "none") }, missing},
		{"SetMetaOfNone", func() error { return c.SetBlobMeta(ctx, "none", &storm.SettableBlobMeta{}) }, missing},
		{"CreateTwice", func() error { _, err := c.BeginCreateBlob(ctx, "words", &storm.SettableBlobMeta{}); return err }, func(err error) bool {
			e, ok := errors.AsType[*storm.KeyAlreadyExistsException](err)
			return ok && e.Msg == "words"
		}},
		{"BadKey", func() error { _, err := c.BeginCreateBlob(ctx, "../x", &storm.SettableBlobMeta{}); return err }, internal},
		{"NoUpload", func() error { return c.UploadBlobChunk(ctx, "nosession", []byte("x")) }, internal},
		{"NoCancel", func() error { return c.CancelBlobUpload(ctx, "nosession") }, internal},
		{"NoDownload", func() error { _, err := c.DownloadBlobChunk(ctx, "nosession"); return err }, internal},
		{"Replication", func() error { _, err := c.UpdateBlobReplication(ctx, "words", 2); return err }, internal},
		{"TopologyBlob", func() error { return c.DeleteBlob(ctx, id+"-stormjar.jar") }, func(err error) bool {
			_, ok := errors.AsType[*storm.IllegalStateException](err)
			return ok
		}},
		{"UserTwiceInACL", func() error {
			name := "u"
			acl := []*storm.AccessControl{{Type: storm.AccessControlType_USER, Name: &name, Access: 1}, {Type: storm.AccessControlType_USER, Name: &name, Access: 7}}
			_, err := c.BeginCreateBlob(ctx, "acl", &storm.SettableBlobMeta{Acl: acl})
			return err
		}, func(err error) bool {
			_, ok := errors.AsType[*storm.AuthorizationException](err)
			return ok
		}},
	}
	for _, tt := range calls {
		if err := tt.call(); !tt.want(err) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if err := c.CreateStateInZookeeper(ctx, "none"); err != nil {
		t.Errorf("state of an unknown blob: %v", err)
	}
}

func TestListBlobsInPages(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	const blobs = 130
	for i := range blobs {
		putBlob(t, c, fmt.Sprintf("k%d", i), "x")
	}
	seen := map[string]bool{}
	var pages []int
	for session := ""; ; {
		page, err := c.ListBlobs(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, len(page.Keys))
		if len(page.Keys) == 0 {
			break
		}
		for _, key := range page.Keys {
			seen[key] = true
		}
		session = page.Session
	}
	if len(seen) != blobs || len(pages) != 3 || pages[0] != 100 {
		t.Errorf("%d keys in pages of %v", len(seen), pages)
	}
}

func TestBlobsOutliveALostClusterState(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	putBlob(t, c, "words", "x")
	site.StopNimbus()
	if err := site.State.RemoveBlob(t.Context(), "words"); err != nil {
		t.Fatal(err)
	}
	site.StartNimbus(t, nil)
	if got := getBlob(t, site.Client(t)); got != "x" {
		t.Errorf("there is %q", got)
	}
}
