// SPDX-License-Identifier: Apache-2.0

// Typed reads of a Conf, as tolerant as Storm's: a number may be written as a string, a list of one as a plain value.

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ErrNotSet is what the Require methods return, wrapped with the key, when a key is missing or null.
var ErrNotSet = errors.New("not set")

// Int returns the integer at key, or def if the key is missing, null or no integer. "12" and 12.0 are integers. A bad value does
// not show here: whoever loaded the conf has called [Validate], and RequireInt tells the difference.
func (c Conf) Int(key string, def int64) int64 { return orDefault(c[key], def, toInt) }

// Float returns the number at key, or def; see [Conf.Int].
func (c Conf) Float(key string, def float64) float64 { return orDefault(c[key], def, toFloat) }

// Bool returns the boolean at key, or def. Storm takes no other spelling than a boolean, so "true" as a string is def.
func (c Conf) Bool(key string, def bool) bool { return orDefault(c[key], def, toBool) }

// String returns the text at key, or def if it is missing, null, a list or a map. A number or boolean prints as Java prints it.
func (c Conf) String(key, def string) string { return orDefault(c[key], def, toString) }

// Strings returns the list at key as strings, without its null members; a plain string is a list of one. Nil if missing, null or
// a map.
func (c Conf) Strings(key string) []string { return orDefault(c[key], nil, toStrings) }

// Ints returns the list of integers at key; a plain integer is a list of one. Nil if missing, null, or if any member is no integer.
func (c Conf) Ints(key string) []int64 { return orDefault(c[key], nil, toInts) }

// Map returns the map at key, nil if it is missing, null or no map. It is the map inside c, not a copy.
func (c Conf) Map(key string) map[string]any { return orDefault(c[key], nil, toMap) }

// RequireInt is [Conf.Int] with an error, naming key and value, in place of a default.
func (c Conf) RequireInt(key string) (int64, error) { return require(c, key, "an integer", toInt) }

// RequireFloat is [Conf.Float] with an error in place of a default.
func (c Conf) RequireFloat(key string) (float64, error) { return require(c, key, "a number", toFloat) }

// RequireString is [Conf.String] with an error in place of a default.
func (c Conf) RequireString(key string) (string, error) {
	return require(c, key, "a string", toString)
}

func orDefault[T any](v any, def T, conv func(any) (T, bool)) T {
	if v == nil {
		return def
	}
	if t, ok := conv(v); ok {
		return t
	}
	return def
}

func require[T any](c Conf, key, want string, conv func(any) (T, bool)) (T, error) {
	v := c[key]
	if v == nil {
		var zero T
		return zero, fmt.Errorf("conf key %s: %w", key, ErrNotSet)
	}
	t, ok := conv(v)
	if !ok {
		return t, fmt.Errorf("conf key %s: %s is not %s", key, show(key, v), want)
	}
	return t, nil
}

// show prints a value for an error text: short, and never a secret.
func show(key string, v any) string {
	if IsSecret(key) {
		return "the value (a secret)"
	}
	text := fromYAML.text(v)
	if s, ok := v.(string); ok {
		text = strconv.Quote(s)
	}
	if len(text) > maxShown {
		text = text[:maxShown] + "..."
	}
	return text
}

// maxShown bounds how much of a value an error text repeats, in bytes.
const maxShown = 200

func toInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case float64:
		if v != math.Trunc(v) || v < -(1<<63) || v >= 1<<63 {
			return 0, false
		}
		return int64(v), true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	default:
		return 0, false
	}
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil
	default:
		return 0, false
	}
}

func toBool(v any) (bool, bool) {
	b, ok := v.(bool)
	return b, ok
}

func toString(v any) (string, bool) {
	switch v.(type) {
	case []any, map[string]any, Conf:
		return "", false
	default:
		return fromYAML.text(v), true
	}
}

func toStrings(v any) ([]string, bool) {
	switch v := v.(type) {
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			if e != nil {
				out = append(out, fromYAML.text(e))
			}
		}
		return out, true
	case string:
		return []string{v}, true
	default:
		return nil, false
	}
}

func toInts(v any) ([]int64, bool) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	out := make([]int64, len(list))
	for i, e := range list {
		n, ok := toInt(e)
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

func toMap(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, true
	case Conf:
		return v, true
	default:
		return nil, false
	}
}
