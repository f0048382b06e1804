// SPDX-License-Identifier: Apache-2.0

// How Java prints values and names their classes: Storm's error texts quote both.

package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/internal/java"
)

// dialect says which parser a conf came through in Storm, which decides the classes of maps and lists and how they print.
type dialect int

const (
	fromJSON dialect = iota // a topology's conf: json-smart's JSONObject and JSONArray, which print themselves as JSON
	fromYAML                // storm.yaml: LinkedHashMap and ArrayList, which print as {a=1} and [1, 2]
)

// class is the Java class name of a value.
func (d dialect) class(v any) string {
	switch v := v.(type) {
	case bool:
		return "java.lang.Boolean"
	case int64:
		if v >= math.MinInt32 && v <= math.MaxInt32 {
			return "java.lang.Integer"
		}
		return "java.lang.Long"
	case json.Number:
		return "java.math.BigInteger"
	case float64:
		return "java.lang.Double"
	case string:
		return "java.lang.String"
	case []any:
		if d == fromYAML {
			return "java.util.ArrayList"
		}
		return "net.minidev.json.JSONArray"
	case map[string]any, Conf:
		if d == fromYAML {
			return "java.util.LinkedHashMap"
		}
		return "net.minidev.json.JSONObject"
	default:
		return "java.lang.Object"
	}
}

// text is the Java toString of a value.
func (d dialect) text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case json.Number:
		return string(v)
	case float64:
		return java.Double(v)
	case string:
		return v
	case []any:
		return d.listText(v)
	case map[string]any:
		return d.mapText(v)
	case Conf:
		return d.mapText(v)
	default:
		return fmt.Sprint(v)
	}
}

func (d dialect) listText(list []any) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = d.element(e)
	}
	if d == fromYAML {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func (d dialect) mapText(m map[string]any) string {
	parts := make([]string, 0, len(m))
	for _, k := range d.keys(m) {
		if d == fromYAML {
			parts = append(parts, k+"="+d.element(m[k]))
		} else {
			parts = append(parts, jsonSmartString(k)+":"+d.element(m[k]))
		}
	}
	if d == fromYAML {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// element prints a value inside a list or map; JSON quotes strings there.
func (d dialect) element(v any) string {
	if s, ok := v.(string); ok && d == fromJSON {
		return jsonSmartString(s)
	}
	return d.text(v)
}

// keys returns a map's keys in the order in which Java would walk them, as far as it can be known: a JSONObject is a HashMap, whose
// order follows the hash codes. A LinkedHashMap keeps the order of the file, which a Conf does not know: sorted instead.
func (d dialect) keys(m map[string]any) []string {
	keys := Conf(m).Keys()
	if d == fromJSON {
		sortByHash(keys)
	}
	return keys
}

// sortByHash orders sorted keys as a java.util.HashMap of that size walks them. Keys that share a bucket keep their sorted order,
// where Java has the order of insertion.
func sortByHash(keys []string) {
	sortByBucket(keys, java.Buckets(len(keys)))
}

func sortByBucket(keys []string, buckets uint32) {
	slices.SortStableFunc(keys, func(a, b string) int {
		return cmp.Compare(java.Bucket(java.Hash(a), buckets), java.Bucket(java.Hash(b), buckets))
	})
}

// stringSetText prints a HashSet of strings as Java does.
func stringSetText(values []string) string {
	sorted := slices.Sorted(slices.Values(values))
	// The copy constructor of HashSet sizes its table by the source, never below 16 buckets.
	if n := uint(len(sorted)); n > 0 {
		want := max(uint32(float64(n)/0.75)+1, 16)
		sortByBucket(sorted, uint32(1)<<bits.Len32(want-1))
	}
	return "[" + strings.Join(sorted, ", ") + "]"
}

// jsonSmartString quotes a string as json-smart does when a JSONObject prints itself: it escapes the solidus as well.
func jsonSmartString(s string) string {
	var sb strings.Builder
	sb.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"':
			sb.WriteString(`\"`)
		case '\\':
			sb.WriteString(`\\`)
		case '/':
			sb.WriteString(`\/`)
		case '\b':
			sb.WriteString(`\b`)
		case '\f':
			sb.WriteString(`\f`)
		case '\n':
			sb.WriteString(`\n`)
		case '\r':
			sb.WriteString(`\r`)
		case '\t':
			sb.WriteString(`\t`)
		default:
			if r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0x2000 && r <= 0x20ff {
				fmt.Fprintf(&sb, `\u%04X`, r)
			} else {
				sb.WriteRune(r)
			}
		}
	}
	sb.WriteByte('"')
	return sb.String()
}
