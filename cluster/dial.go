// SPDX-License-Identifier: Apache-2.0

// This file keeps hold of the connection below the client library, so that Close need not wait for a server that says nothing.

package cluster

import (
	"errors"
	"net"
	"sync"
	"time"
)

// dialer opens connections for the client library, one after the other.
type dialer struct {
	mu     sync.Mutex
	conn   net.Conn // the newest; guarded by mu, as are closed and err
	closed bool
	err    error // why the last try failed, nil if it did not
}

// dial has the form that the library asks for.
func (d *dialer) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout) //nolint:noctx // the library has no context; its timeout ends this
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	if err != nil {
		return nil, err
	}
	d.conn = conn
	if d.closed {
		_ = conn.Close() // the library finds that out and ends
	}
	return conn, nil
}

// errSilent stands for a server that takes the connection and says nothing.
var errSilent = errors.New("connected, and no session yet")

// fault says why there is no session yet.
func (d *dialer) fault() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil && d.conn != nil {
		return errSilent
	}
	return d.err
}

// close ends the newest connection and all that are opened later.
func (d *dialer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.conn != nil {
		_ = d.conn.Close() // it may have ended already
	}
}
