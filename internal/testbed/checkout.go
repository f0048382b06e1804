// SPDX-License-Identifier: Apache-2.0

// This file finds what make targets lay out.

package testbed

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Version is the Storm release that gust is compared with.
const Version = "2.8.3"

// Root is the checkout: the nearest parent of the working directory with the go.mod of gust itself.
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

// Home is the Storm home that workers and clients are started from: $GUST_STORM_HOME, else the one in the checkout.
func Home() (string, error) {
	return Find("GUST_STORM_HOME", filepath.Join("build", "storm-home", Version), "lib-worker", "make storm-home")
}

// Stock is a Storm home with the server side of stock Storm: $GUST_STORM_STOCK, else the one in the checkout.
func Stock() (string, error) {
	return Find("GUST_STORM_STOCK", filepath.Join("build", "storm-stock", Version), "lib", "make storm-stock")
}

// Find gives the absolute path that a variable of the environment names, else the one inside the checkout. what inside it must
// exist; the error says which command makes it.
func Find(env, inside, what, maker string) (string, error) {
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
	return filepath.Abs(path)
}
