// SPDX-License-Identifier: Apache-2.0

// ACLs: shared storage, checks, and the expansion of what clients send.

package tree

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/zookeeper/jute"
)

const (
	schemeWorld  = "world"
	schemeDigest = "digest"
	schemeIP     = "ip"

	// SchemeAuth stands in what clients send for all the identities that they have proved.
	SchemeAuth = "auth"
	// SchemeSuper is the identity that every ACL lets through.
	SchemeSuper = "super"
)

func anyone() jute.ID { return jute.ID{Scheme: schemeWorld, ID: "anyone"} }

// aclEntry is one distinct ACL. A cluster has few, and thousands of znodes share them.
type aclEntry struct {
	key  string
	list []jute.ACL
	refs int
}

type aclTable struct{ entries map[string]*aclEntry }

func newACLTable() aclTable { return aclTable{entries: map[string]*aclEntry{}} }

func (a *aclTable) intern(list []jute.ACL) *aclEntry {
	var scratch [128]byte
	key := jute.AppendACLs(scratch[:0], list)
	if e := a.entries[string(key)]; e != nil {
		e.refs++
		return e
	}
	e := &aclEntry{key: string(key), list: list, refs: 1}
	a.entries[e.key] = e
	return e
}

func (a *aclTable) release(e *aclEntry) {
	if e.refs--; e.refs == 0 {
		delete(a.entries, e.key)
	}
}

// allowed tells whether one of ids has any of the bits perm. An empty list is open.
func allowed(acl []jute.ACL, perm int32, ids []jute.ID) bool {
	if len(acl) == 0 {
		return true
	}
	for _, id := range ids {
		if id.Scheme == SchemeSuper {
			return true
		}
	}
	for _, a := range acl {
		if a.Perms&perm == 0 {
			continue
		}
		if a.ID == anyone() {
			return true
		}
		for _, id := range ids {
			if id.Scheme == a.ID.Scheme && matches(id, a.ID.ID) {
				return true
			}
		}
	}
	return false
}

func matches(id jute.ID, expr string) bool {
	switch id.Scheme {
	case schemeDigest:
		return id.ID == expr
	case schemeIP:
		prefix, ok := parsePrefix(expr)
		addr, err := netip.ParseAddr(id.ID)
		return ok && err == nil && prefix.Contains(addr.Unmap())
	}
	return false
}

// parsePrefix reads an address, or an address and the number of bits that count.
func parsePrefix(expr string) (netip.Prefix, bool) {
	host, bits, hasBits := strings.Cut(expr, "/")
	addr, err := netip.ParseAddr(host)
	if err != nil || addr.Zone() != "" {
		return netip.Prefix{}, false
	}
	n := addr.BitLen()
	if hasBits {
		if n, err = strconv.Atoi(bits); err != nil || n < 0 || n > addr.BitLen() {
			return netip.Prefix{}, false
		}
	}
	return netip.PrefixFrom(addr, n), true
}

// expandACL checks what a client wants to set and replaces the scheme auth by the
// identities that the client has proved.
func expandACL(acl []jute.ACL, ids []jute.ID) ([]jute.ACL, bool) {
	if len(acl) == 0 {
		return nil, false
	}
	out := make([]jute.ACL, 0, len(acl))
	var seen map[jute.ACL]struct{} // a request holds up to tens of thousands
	if len(acl) > 1 {
		seen = make(map[jute.ACL]struct{}, len(acl))
	}
	for _, a := range acl {
		if _, again := seen[a]; again {
			continue
		}
		if seen != nil {
			seen[a] = struct{}{}
		}
		switch a.ID.Scheme {
		case SchemeAuth:
			found := false
			for _, id := range ids {
				if id.Scheme == schemeDigest { // an address proves nothing
					out, found = append(out, jute.ACL{Perms: a.Perms, ID: id}), true
				}
			}
			if !found {
				return nil, false
			}
			continue
		case schemeWorld:
			if a.ID.ID != "anyone" {
				return nil, false
			}
		case schemeDigest:
			if !validDigest(a.ID.ID) {
				return nil, false
			}
		case schemeIP:
			if _, ok := parsePrefix(a.ID.ID); !ok {
				return nil, false
			}
		default:
			return nil, false
		}
		out = append(out, a)
	}
	return out, true
}

// validDigest wants a user, one colon and something behind it; Java's split drops
// colons at the end.
func validDigest(id string) bool {
	_, hash, ok := strings.Cut(id, ":")
	hash = strings.TrimRight(hash, ":")
	return ok && hash != "" && !strings.Contains(hash, ":")
}

// hideDigests replaces the hashes in an ACL for readers that may not change it.
func hideDigests(acl []jute.ACL) []jute.ACL {
	out := slices.Clone(acl)
	for i := range out {
		if out[i].ID.Scheme == schemeDigest {
			if user, _, ok := strings.Cut(out[i].ID.ID, ":"); ok {
				out[i].ID.ID = user + ":x"
			}
		}
	}
	return out
}
