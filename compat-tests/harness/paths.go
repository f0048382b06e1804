// SPDX-License-Identifier: Apache-2.0

// This file finds what tests need and make targets lay out.

package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Version is the Storm release that gust is compared with.
const Version = "2.8.3"

// Root is the checkout: the nearest parent of the working directory with the
// go.mod of gust itself.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	for ; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module github.com/gust-stream/gust\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("find the checkout: no parent folder has gust's go.mod")
		}
	}
}

// Home is the Storm home that workers and clients are started from:
// $GUST_STORM_HOME, else build/storm-home/Version.
func Home() (string, error) {
	return find("GUST_STORM_HOME", filepath.Join("build", "storm-home", Version), "lib-worker", "make storm-home")
}

// StockHome is a Storm home with the server side of stock Storm:
// $GUST_STORM_STOCK, else build/storm-stock/Version.
func StockHome() (string, error) {
	return find("GUST_STORM_STOCK", filepath.Join("build", "storm-stock", Version), "lib", "make storm-stock")
}

// Jar is the JAR of the topologies: $GUST_TOPOLOGIES, else the one that Maven
// made in compat-tests/topologies/target.
func Jar() (string, error) {
	return find("GUST_TOPOLOGIES", filepath.Join("compat-tests", "topologies", "target", "compat-topologies.jar"), "",
		"make topologies")
}

// Binary is the gust binary: $GUST_BINARY, else bin/gust.
func Binary() (string, error) {
	return find("GUST_BINARY", filepath.Join("bin", "gust"), "", "make build")
}

// Release is the version of the Storm home.
func Release(home string) (string, error) {
	text, err := os.ReadFile(filepath.Join(home, "RELEASE"))
	if err != nil {
		return "", fmt.Errorf("read version of Storm home: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// find gives the path that the environment names, else the one in the checkout;
// what inside it must exist.
func find(env, inside, what, maker string) (string, error) {
	path := os.Getenv(env)
	if path == "" {
		root, err := Root()
		if err != nil {
			return "", err
		}
		path = filepath.Join(root, inside)
	}
	if _, err := os.Stat(filepath.Join(path, what)); err != nil {
		return "", fmt.Errorf("%s is missing (%s makes it, %s names another): %w", inside, maker, env, err)
	}
	return path, nil
}
