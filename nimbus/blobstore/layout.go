// SPDX-License-Identifier: Apache-2.0

// This file says where a key's files lie and which keys are allowed.

package blobstore

import (
	"fmt"
	"path/filepath"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/gust-stream/gust/internal/java"
)

const (
	buckets    = 1024
	dataPrefix = "data_"
	metaPrefix = "meta_"
	fileName   = "data" // of data and of meta alike
	tempSuffix = ".tmp"
)

// CheckKey refuses keys that Storm refuses: anything but letters, digits, space, tab, '.', '_' and '-', and the names
// ".", ".." and "". So a key is always one file name.
func CheckKey(key string) error {
	if key == "" || key == "." || key == ".." || !utf8.ValidString(key) {
		return fmt.Errorf("%w: %q", ErrBadKey, key)
	}
	for _, r := range key {
		word := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		if !word && r != ' ' && r != '\t' && r != '.' && r != '_' && r != '-' {
			return fmt.Errorf("%w: %q", ErrBadKey, key)
		}
	}
	return nil
}

// bucket is the number of the folder in which a prefixed key lies.
func bucket(prefixed string) int {
	absolute := int64(int32(java.Hash(prefixed)))
	if absolute < 0 {
		absolute = -absolute
	}
	return int(absolute % buckets)
}

// folder is the directory that holds a prefixed key's file.
func (s *Store) folder(prefix, key string) string {
	return filepath.Join(s.dir, strconv.Itoa(bucket(prefix+key)), prefix+key)
}
