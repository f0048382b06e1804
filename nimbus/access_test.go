// SPDX-License-Identifier: Apache-2.0

package nimbus

// Tests of access lists.

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/thrift/storm"
)

func TestNormalizeACLKeepsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	others := func(access int32) *storm.AccessControl {
		return &storm.AccessControl{Type: storm.AccessControlType_OTHER, Access: access}
	}
	someone := &storm.AccessControl{Type: storm.AccessControlType_USER, Name: new("someone"), Access: accessAll}
	for _, c := range []struct {
		name        string
		asked, want []*storm.AccessControl
	}{
		{"Nothing", nil, []*storm.AccessControl{others(accessAll)}},
		{"NoRight", []*storm.AccessControl{others(0)}, []*storm.AccessControl{others(accessAll)}},
		{"Everything", []*storm.AccessControl{others(accessAll)}, []*storm.AccessControl{others(accessAll)}},
		{
			"UserAndSome",
			[]*storm.AccessControl{someone, others(accessRead)},
			[]*storm.AccessControl{someone, others(accessRead), others(accessAll)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := normalizeACL(&storm.SettableBlobMeta{Acl: c.asked})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Acl); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
