// SPDX-License-Identifier: Apache-2.0

// The four-letter words that monitoring sends instead of a first frame.

package server

import "fmt"

// word answers a four-letter word and tells whether it was one.
func (c *conn) word(w string) bool {
	var text string
	switch w {
	case "ruok":
		text = "imok"
	case "srvr":
		f := &c.s.facts
		text = fmt.Sprintf("Zookeeper version: gust embedded\nConnections: %d\nZxid: 0x%x\nMode: standalone\nNode count: %d\n",
			c.s.connCount(), f.zxid.Load(), f.nodes.Load())
	default:
		return false
	}
	_, _ = c.nc.Write([]byte(text)) // the connection ends either way
	return true
}
