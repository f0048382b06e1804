// SPDX-License-Identifier: Apache-2.0

// Checks of single values: types, ranges, class names.

package config

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strings"
)

// isInstance tells whether Java's instanceof holds for a value of a Conf, which is never true of null.
func isInstance(class string, v any) bool {
	if v == nil {
		return false
	}
	switch class {
	case "java.lang.Object":
		return true
	case "java.lang.Number":
		return isNumber(v)
	case "java.util.Map":
		_, ok := v.(map[string]any)
		return ok
	case "java.lang.Iterable", "java.util.Collection", "java.util.List":
		_, ok := v.([]any)
		return ok
	default:
		return fromYAML.class(v) == class
	}
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64, json.Number:
		return true
	default:
		return false
	}
}

// classText is how Java prints a class object.
func classText(class string) string {
	switch class {
	case "java.util.Map", "java.lang.Iterable", "java.util.Collection", "java.util.List":
		return "interface " + class
	default:
		return "class " + class
	}
}

func (r *refuser) simple(name, class string, v any) bool {
	if v == nil || isInstance(class, v) {
		return true
	}
	return r.refuse("Field %s must be of type %s. Object: %s actual type: class %s", name, classText(class), r.shown(v), r.class(v))
}

func (r *refuser) notNull(name string, v any) bool {
	if v != nil {
		return true
	}
	return r.refuse("Field %scannot be null! Actual value: null", name)
}

func (r *refuser) str(name string, accepted []string, v any) bool {
	if !r.simple(name, "java.lang.String", v) {
		return false
	}
	if s, ok := v.(string); len(accepted) == 0 || ok && slices.Contains(accepted, s) {
		return true
	}
	return r.refuse("Field %s is not an accepted value. Value: %s Accepted values: %s", name, r.shown(v), stringSetText(accepted))
}

// numberParts returns a number as Java's longValue and doubleValue see it.
func numberParts(v any) (l int64, d float64, ok bool) {
	switch v := v.(type) {
	case int64:
		return v, float64(v), true
	case float64:
		return javaLong(v), v, true
	case json.Number:
		n, ok := new(big.Int).SetString(string(v), 10)
		if !ok {
			return 0, 0, false
		}
		f, _ := new(big.Float).SetInt(n).Float64()
		low := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)) // two's complement, as Java's
		return int64(low.Uint64()), f, true                                // the wrap is what Java does
	default:
		return 0, 0, false
	}
}

// javaLong converts as Java casts a double to long: towards zero, clamped, not-a-number to zero.
func javaLong(f float64) int64 {
	switch {
	case math.IsNaN(f):
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	default:
		return int64(f)
	}
}

func (r *refuser) integer(name string, v any) bool {
	if v == nil {
		return true
	}
	l, d, ok := numberParts(v)
	if ok && float64(l) == d && l >= math.MinInt32 && l <= math.MaxInt32 {
		return true
	}
	return r.refuse("Field %s must be an Integer within type range.", name)
}

func (r *refuser) long(name string, v any) bool {
	if v == nil {
		return true
	}
	if l, d, ok := numberParts(v); ok && float64(l) == d {
		return true
	}
	return r.refuse("Field %s must be an Long within type range.", name)
}

func (r *refuser) positive(name string, zero bool, v any) bool {
	if v == nil {
		return true
	}
	if _, d, ok := numberParts(v); ok && (d > 0 || zero && d == 0) {
		return true
	}
	return r.refuse("Field %s must be a Positive Number", name)
}

func (r *refuser) powerOf2(name string, v any) bool {
	if v == nil {
		return true
	}
	if l, d, ok := numberParts(v); ok && float64(l) == d && l > 0 && l&(l-1) == 0 {
		return true
	}
	return r.refuse("Field %s must be a power of 2.", name)
}

func (r *refuser) pacemakerAuth(name string, v any) bool {
	switch v {
	case nil:
		return r.refuse("Field %s must be set.", name)
	case "NONE", "DIGEST", "KERBEROS":
		return true
	default:
		return r.refuse(`Field %s must be one of "NONE", "DIGEST", or "KERBEROS"`, name)
	}
}

// implements checks that a value names a class of Storm that implements an interface. We load no class: the table knows those of
// Storm's JARs, and a plug-in of the user's is unknown to it, which Storm's Nimbus without that plug-in would say as well.
func (r *refuser) implements(name, want string, v any) bool {
	if v == nil {
		return true
	}
	if !r.simple(name, "java.lang.String", v) {
		return false
	}
	class, ok := v.(string)
	if !ok { // simple has refused it
		return false
	}
	if slices.Contains(knownClasses[want], class) {
		return true
	}
	if classExists(class) {
		return r.refuse("Field %s with value %s does not implement %s", name, class, want)
	}
	if strings.HasPrefix(class, "backtype.storm") { // packages of Storm before 1.0
		return r.implements(name, want, strings.ReplaceAll(class, "backtype.storm", "org.apache.storm"))
	}
	return r.crash("Failed to validate config %s with value %s", name, class)
}

func (r *refuser) derives(name, want string, v any) bool {
	if v == nil {
		return true
	}
	class := r.shown(v)
	if slices.Contains(knownClasses[want], class) {
		return true
	}
	if classExists(class) {
		return r.refuse("Field %s must represent a type that derives from '%s'. Specified type = %s", name, classText(want), class)
	}
	return r.refuse("%s", class)
}

// classExists tells of the classes that we know to be there that they are: Storm's plug-ins and a few of Java's.
func classExists(class string) bool {
	if strings.HasPrefix(class, "java.lang.") {
		return slices.Contains([]string{"Object", "String", "Integer", "Long", "Double", "Number", "Boolean"}, class[len("java.lang."):])
	}
	for _, classes := range knownClasses {
		if slices.Contains(classes, class) {
			return true
		}
	}
	return false
}
