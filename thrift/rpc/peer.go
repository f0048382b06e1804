// SPDX-License-Identifier: Apache-2.0

// Who calls: what the server knows about the other end, for handlers.

package rpc

import (
	"context"
	"crypto/tls"
	"net"
)

// PeerInfo is what the server knows about the other end of a connection.
type PeerInfo struct {
	// Addr is the remote address; nil outside of a call.
	Addr net.Addr
	// Local is the address that the peer connected to.
	Local net.Addr
	// TLS is the state after the handshake, nil on a plain connection. A
	// verified client certificate is in its VerifiedChains.
	TLS *tls.ConnectionState
}

// String is the remote address, or "unknown" outside of a call.
func (p PeerInfo) String() string {
	if p.Addr == nil {
		return "unknown"
	}
	return p.Addr.String()
}

// Host is the remote address without its port, "" outside of a call.
func (p PeerInfo) Host() string {
	if p.Addr == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(p.Addr.String())
	if err != nil {
		return p.Addr.String()
	}
	return host
}

type peerKey struct{}

// Peer returns who made the call that ctx belongs to. Outside of a call it is
// the zero PeerInfo.
func Peer(ctx context.Context) PeerInfo {
	p, _ := ctx.Value(peerKey{}).(*PeerInfo)
	if p == nil {
		return PeerInfo{}
	}
	return *p
}
