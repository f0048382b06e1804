// SPDX-License-Identifier: Apache-2.0

package container

// This file compares Storm versions and picks what was configured for one.

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// stormVersion is a release line. Storm compares versions by major and minor number only: within a line all releases are
// compatible. What cannot be read is unknown.
type stormVersion struct {
	major, minor int
}

func parseVersion(text string) stormVersion {
	unknown := stormVersion{major: -1, minor: -1}
	major, tail, ok := strings.Cut(text, ".")
	if !ok {
		return unknown
	}
	minor, _, _ := strings.Cut(tail, ".")
	var v stormVersion
	var err1, err2 error
	v.major, err1 = strconv.Atoi(major)
	v.minor, err2 = strconv.Atoi(minor)
	if errors.Join(err1, err2) != nil {
		return unknown
	}
	return v
}

func (v stormVersion) unknown() bool { return v.major == -1 && v.minor == -1 }

func (v stormVersion) compare(o stormVersion) int {
	return cmp.Or(cmp.Compare(v.major, o.major), cmp.Compare(v.minor, o.minor))
}

func (v stormVersion) less(o stormVersion) bool { return v.compare(o) < 0 }

// compatible picks from what is configured by version the entry for want: the same or the next newer line of the same major
// version, else the next older one of it, else nothing. Of two entries for one line the one with the greater text counts.
func compatible(byVersion map[string]string, want stormVersion) (string, bool) {
	keys := slices.SortedFunc(maps.Keys(byVersion), func(a, b string) int {
		return cmp.Or(parseVersion(a).compare(parseVersion(b)), strings.Compare(b, a))
	})
	older := ""
	for _, key := range keys {
		v := parseVersion(key)
		if v.major != want.major {
			continue
		}
		if !v.less(want) {
			return byVersion[key], true
		}
		if older == "" || parseVersion(older).less(v) {
			older = key
		}
	}
	return byVersion[older], older != ""
}

// HomeVersion reads the version of the Storm home from the name of its storm-client jar.
func HomeVersion(home string) (string, error) {
	jars, err := filepath.Glob(filepath.Join(home, "lib-worker", "storm-client-*.jar"))
	if err != nil || len(jars) != 1 {
		return "", fmt.Errorf("storm home %s: lib-worker holds %d storm-client jars, not one", home, len(jars))
	}
	name := strings.TrimSuffix(filepath.Base(jars[0]), ".jar")
	return strings.TrimPrefix(name, "storm-client-"), nil
}
