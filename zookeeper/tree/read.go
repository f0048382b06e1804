// SPDX-License-Identifier: Apache-2.0

// Requests that change nothing but watches.

package tree

import (
	"slices"
	"strings"

	"github.com/gust-stream/gust/zookeeper/jute"
)

// readable finds a znode that c may read.
func (t *Tree) readable(c *Client, path string, perm int32) (*node, jute.Code) {
	n := t.lookup(path)
	if n == nil {
		return nil, jute.NoNode
	}
	if !allowed(n.acl.list, perm, c.Auth) {
		return nil, jute.NoAuth
	}
	return n, jute.OK
}

// Exists gives a znode's stat. With watch it also watches a path that is not there.
func (t *Tree) Exists(c *Client, path string, watch bool) (jute.Stat, jute.Code) {
	if strings.IndexByte(path, 0) >= 0 {
		return jute.Stat{}, jute.BadArguments
	}
	n, code := t.readable(c, path, jute.PermRead)
	if code == jute.NoAuth {
		return jute.Stat{}, code
	}
	if watch && !t.watch(dataTable, path, c, once) {
		return jute.Stat{}, jute.ThrottledOp
	}
	if n == nil {
		return jute.Stat{}, jute.NoNode
	}
	return n.stat(), jute.OK
}

// GetData gives a znode's data, which the caller must not change, and stat.
func (t *Tree) GetData(c *Client, path string, watch bool) ([]byte, jute.Stat, jute.Code) {
	n, code := t.readable(c, path, jute.PermRead)
	if code != jute.OK {
		return nil, jute.Stat{}, code
	}
	if watch && !t.watch(dataTable, path, c, once) {
		return nil, jute.Stat{}, jute.ThrottledOp
	}
	return n.data, n.stat(), jute.OK
}

// GetChildren lists the names of children in order.
func (t *Tree) GetChildren(c *Client, path string, watch bool) ([]string, jute.Stat, jute.Code) {
	n, code := t.readable(c, path, jute.PermRead)
	if code != jute.OK {
		return nil, jute.Stat{}, code
	}
	if watch && !t.watch(childTable, path, c, once) {
		return nil, jute.Stat{}, jute.ThrottledOp
	}
	return n.names(), n.stat(), jute.OK
}

// GetACL gives a znode's ACL. Clients without admin right see no password hashes.
func (t *Tree) GetACL(c *Client, path string) ([]jute.ACL, jute.Stat, jute.Code) {
	n, code := t.readable(c, path, jute.PermRead|jute.PermAdmin)
	if code != jute.OK {
		return nil, jute.Stat{}, code
	}
	acl := n.acl.list
	if !allowed(acl, jute.PermAdmin, c.Auth) {
		acl = hideDigests(acl)
	}
	return acl, n.stat(), jute.OK
}

// ChildrenNumber counts all znodes below a path.
func (t *Tree) ChildrenNumber(c *Client, path string) (int32, jute.Code) {
	n, code := t.readable(c, path, jute.PermRead)
	if code != jute.OK {
		return 0, code
	}
	return count(n), jute.OK
}

func count(n *node) int32 {
	total := int32(len(n.children))
	for _, c := range n.children {
		total += count(c)
	}
	return total
}

// Ephemerals lists the client's own ephemeral znodes below a prefix, in order.
func (t *Tree) Ephemerals(c *Client, prefix string) []string {
	prefix = strings.TrimSpace(prefix)
	out := []string{}
	if s := t.sessions[c.Session]; s != nil {
		for path := range s.ephemerals {
			if prefix == "" || strings.HasPrefix(path, prefix) {
				out = append(out, path)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Containers lists container znodes that had children and have none now. The
// server deletes them after a while.
func (t *Tree) Containers() []string {
	var out []string
	for path := range t.containers {
		if n := t.nodes[path]; n.cversion > 0 && len(n.children) == 0 {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
