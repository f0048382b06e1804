// SPDX-License-Identifier: Apache-2.0

// Which paths a znode may have.

package tree

import "strings"

// validPath applies ZooKeeper's rules. Characters are judged as Java sees them: all
// beyond the basic plane are surrogates there and refused, and so is broken UTF-8.
func validPath(path string) bool {
	if path == "/" {
		return true
	}
	if path == "" || path[0] != '/' || path[len(path)-1] == '/' {
		return false
	}
	for rest := path[1:]; ; {
		name, more, found := strings.Cut(rest, "/")
		if name == "" || name == "." || name == ".." {
			return false
		}
		for _, r := range name {
			if r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 {
				return false
			}
		}
		if !found {
			return true
		}
		rest = more
	}
}

// special paths belong to ZooKeeper and cannot be deleted.
func special(path string) bool {
	switch path {
	case "/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config":
		return true
	}
	return false
}
