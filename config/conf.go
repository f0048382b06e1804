// SPDX-License-Identifier: Apache-2.0

// The Conf type: what values it may hold, and how two of them are merged.

package config

import (
	"encoding/json"
	"maps"
	"slices"
)

// Conf is a configuration: key to value. A value is nil, bool, int64, float64, string, []any or map[string]any, the last two
// nested freely. An integer that int64 cannot hold is a json.Number with its digits, so that nothing is lost on the way through.
// A nil Conf is an empty one. The methods only read, so a Conf that nobody writes to may be shared between goroutines.
type Conf map[string]any

// Merge returns base overlaid by over. It is shallow and a key present with null wins, as in Storm: a map or list in over
// replaces the one in base. The result is a new map; nested values are shared with the arguments.
func Merge(base, over Conf) Conf {
	out := make(Conf, len(base)+len(over))
	maps.Copy(out, base)
	maps.Copy(out, over)
	return out
}

// Clone returns a deep copy.
func (c Conf) Clone() Conf {
	if c == nil {
		return nil
	}
	return Conf(cloneMap(c))
}

func cloneMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = cloneValue(v)
	}
	return out
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return cloneMap(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneValue(e)
		}
		return out
	default:
		return v
	}
}

// Has reports whether the key is present with a value other than null.
func (c Conf) Has(key string) bool {
	return c[key] != nil
}

// Keys returns the keys in ascending order.
func (c Conf) Keys() []string {
	return slices.Sorted(maps.Keys(c))
}

// Normalize returns a copy of conf in which every value has one of the types of [Conf], so that one built by hand (with int, or
// []string) compares and validates like one that was read. A value of another type is kept as it is; [Conf.JSON] refuses it.
func Normalize(conf map[string]any) Conf {
	out := make(Conf, len(conf))
	for k, v := range conf {
		out[k] = normalizeValue(v)
	}
	return out
}

func normalizeValue(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case int16:
		return int64(v)
	case int8:
		return int64(v)
	case uint8:
		return int64(v)
	case uint16:
		return int64(v)
	case uint32:
		return int64(v)
	case float32:
		return float64(v)
	case json.Number:
		if n, err := number(string(v)); err == nil {
			return n
		}
		return v
	case []string:
		return normalizeList(v)
	case []int:
		return normalizeList(v)
	case []int64:
		return normalizeList(v)
	case []any:
		return normalizeList(v)
	case map[string]string:
		return normalizeMap(v)
	case Conf:
		return normalizeMap(v)
	case map[string]any:
		return normalizeMap(v)
	default:
		return v
	}
}

func normalizeList[T any](in []T) []any {
	out := make([]any, len(in))
	for i, e := range in {
		out[i] = normalizeValue(e)
	}
	return out
}

func normalizeMap[T any](in map[string]T) map[string]any {
	out := make(map[string]any, len(in))
	for k, e := range in {
		out[k] = normalizeValue(e)
	}
	return out
}
