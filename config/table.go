// SPDX-License-Identifier: Apache-2.0

// The table of keys at run time: looking a key up, and the built-in defaults.

package config

import (
	"slices"
	"sort"
)

// keyClass says which class of Storm declares a key.
type keyClass uint8

const (
	classNone   keyClass = iota // only in Storm's defaults
	classConfig                 // org.apache.storm.Config: the keys checked when a topology is submitted
	classDaemon                 // org.apache.storm.DaemonConfig
	classGust                   // ours
)

// keySpec is one row of the generated table.
type keySpec struct {
	key        string
	field      string // name of the constant in Storm, which its error texts use
	class      keyClass
	def        string // default as JSON; "" if there is none
	deprecated bool
	reloadable bool
	checks     []check
}

// check is one validator; what a, b and zero mean depends on it.
type check struct {
	is   string
	a, b []string
	zero bool // zero counts as positive
}

func (s *keySpec) is(name string) bool {
	return slices.ContainsFunc(s.checks, func(c check) bool { return c.is == name })
}

// lookup finds a key's row.
func lookup(key string) (*keySpec, bool) {
	i, ok := sort.Find(len(keyIndex), func(i int) int {
		switch k := keyTable[keyIndex[i]].key; {
		case key < k:
			return -1
		case key > k:
			return 1
		default:
			return 0
		}
	})
	if !ok {
		return nil, false
	}
	return &keyTable[keyIndex[i]], true
}

// Builtin returns the built-in defaults: Storm's as of [TableVersion], and gust's. The caller owns the result.
func Builtin() (Conf, error) {
	return defaultsOf(func(*keySpec) bool { return true })
}

// gustDefaults returns the defaults of gust's own keys.
func gustDefaults() (Conf, error) {
	return defaultsOf(func(s *keySpec) bool { return s.class == classGust })
}

func defaultsOf(keep func(*keySpec) bool) (Conf, error) {
	out := make(Conf, len(keyTable))
	for i := range keyTable {
		s := &keyTable[i]
		if s.def == "" || !keep(s) {
			continue
		}
		v, err := parseJSONValue([]byte(s.def))
		if err != nil {
			return nil, err
		}
		out[s.key] = v
	}
	return out, nil
}

// Reloadable reports whether a running daemon takes over a change of the key. No Storm key is.
func Reloadable(key string) bool {
	s, ok := lookup(key)
	return ok && s.reloadable
}

// StormKeys returns the keys that Storm declares or has defaults for, without repeats, in the order of the table.
func StormKeys() []string {
	out := make([]string, 0, len(keyTable))
	seen := map[string]bool{}
	for i := range keyTable {
		if s := &keyTable[i]; s.class != classGust && !seen[s.key] {
			seen[s.key] = true
			out = append(out, s.key)
		}
	}
	return out
}
