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

// maxKey is the longest key in bytes: with its prefix it is the name of a folder, which has at most 255.
const maxKey = 255 - len(dataPrefix)

// CheckKey refuses keys that cannot be: they are file names here and names of znodes, and Storm allows only letters, digits, space,
// tab, '.', '_' and '-'. Of these the tab and letters beyond the first 65,536 characters are no part of a znode's name.
func CheckKey(key string) error {
	if key == "" || key == "." || key == ".." || !utf8.ValidString(key) {
		return fmt.Errorf("%w: %q", ErrBadKey, key)
	}
	if len(key) > maxKey {
		return fmt.Errorf("%w: it has %d bytes, more than %d", ErrBadKey, len(key), maxKey)
	}
	for _, r := range key {
		word := (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && r <= '\uffff'
		if !word && r != ' ' && r != '.' && r != '_' && r != '-' {
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
