// SPDX-License-Identifier: Apache-2.0

// This file finds what tests need and make targets lay out.

package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gust-stream/gust/internal/testbed"
)

// Version is the Storm release that gust is compared with.
const Version = testbed.Version

// Root is the checkout.
func Root() (string, error) { return testbed.Root() }

// Home is the Storm home that workers and clients are started from:
// $GUST_STORM_HOME, else build/storm-home/Version.
func Home() (string, error) {
	return testbed.Home()
}

// StockHome is a Storm home with the server side of stock Storm:
// $GUST_STORM_STOCK, else build/storm-stock/Version.
func StockHome() (string, error) {
	return testbed.Stock()
}

// Jar is the JAR of the topologies: $GUST_TOPOLOGIES, else the one that Maven
// made in compat-tests/topologies/target.
func Jar() (string, error) {
	return testbed.Find("GUST_TOPOLOGIES", filepath.Join("compat-tests", "topologies", "target", "compat-topologies.jar"), "",
		"make topologies")
}

// Binary is the gust binary: $GUST_BINARY, else bin/gust.
func Binary() (string, error) {
	return testbed.Find("GUST_BINARY", filepath.Join("bin", "gust"), "", "make build")
}

// Release is the version of the Storm home.
func Release(home string) (string, error) {
	text, err := os.ReadFile(filepath.Join(home, "RELEASE"))
	if err != nil {
		return "", fmt.Errorf("read version of Storm home: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
