// SPDX-License-Identifier: Apache-2.0

// A Conf as JSON, exact in both directions: what Storm's clients send with a topology and what Nimbus stores.

package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/internal/java"
)

// maxJSONDepth is how deep lists and maps may be nested: Storm's parser, in Nimbus and in workers, takes no more.
const maxJSONDepth = 400

// ParseJSON reads a JSON object. Integers become int64 (or json.Number beyond it), numbers written with a point or an exponent
// become float64. Of a key given twice the last value counts. An error names the byte offset; it never quotes the text, which may
// hold secrets.
func ParseJSON(data []byte) (Conf, error) {
	v, err := parseJSONValue(data)
	if err != nil {
		return nil, fmt.Errorf("parse conf as json: %w", err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("parse conf as json: want an object, have %s", kind(v))
	}
	return m, nil
}

// parseJSONValue reads exactly one JSON value of any type.
func parseJSONValue(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, fmt.Errorf("syntax error at byte %d", syntax.Offset)
		}
		return nil, err
	}
	end := dec.InputOffset()
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("text after the value at byte %d", end)
	}
	return fixNumbers(v, 0)
}

// fixNumbers replaces every json.Number in v, in place where it can, by the value that Conf holds for it. depth is how many lists and
// maps v lies in.
func fixNumbers(v any, depth int) (any, error) {
	switch v := v.(type) {
	case json.Number:
		return number(string(v))
	case []any:
		if depth == maxJSONDepth {
			return nil, errTooDeep
		}
		for i, e := range v {
			n, err := fixNumbers(e, depth+1)
			if err != nil {
				return nil, err
			}
			v[i] = n
		}
	case map[string]any:
		if depth == maxJSONDepth {
			return nil, errTooDeep
		}
		for k, e := range v {
			n, err := fixNumbers(e, depth+1)
			if err != nil {
				return nil, err
			}
			v[k] = n
		}
	}
	return v, nil
}

var errTooDeep = fmt.Errorf("lists and maps are nested deeper than %d", maxJSONDepth)

// number turns the text of a JSON number into int64, json.Number or float64.
func number(text string) (any, error) {
	if !strings.ContainsAny(text, ".eE") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil {
			return n, nil
		}
		return json.Number(text), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("number %.40s does not fit a double", text)
	}
	return f, nil
}

// JSON writes the conf as one JSON object with sorted keys at every level. A float keeps a point or an exponent, so that it is a
// float again when read; one that JSON cannot express (infinite, not a number) becomes null, as in Storm. A value of a type that
// [Conf] does not list is an error that names its key.
func (c Conf) JSON() ([]byte, error) {
	b, err := appendMap(nil, c)
	if err != nil {
		return nil, fmt.Errorf("conf as json: %w", err)
	}
	return b, nil
}

// valueJSON writes the value of one key.
func valueJSON(key string, v any) ([]byte, error) {
	b, err := appendValue(nil, v)
	if err != nil {
		return nil, fmt.Errorf("conf as json: %w", under(err, key))
	}
	return b, nil
}

// valueError is a value that JSON has no form for. Where it lies is found out on the way back, since a path that is made on the way
// there costs its length at each level of a conf.
type valueError struct {
	value string
	keys  []string // innermost first
}

func (e *valueError) Error() string {
	keys := slices.Clone(e.keys)
	slices.Reverse(keys)
	return strings.Join(keys, "/") + " holds " + e.value
}

// under adds the key that leads to a fault.
func under(err error, key string) error {
	if fault, ok := errors.AsType[*valueError](err); ok {
		fault.keys = append(fault.keys, key)
	}
	return err
}

func appendMap(b []byte, m map[string]any) ([]byte, error) {
	b = append(b, '{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, k), ':')
		var err error
		if b, err = appendValue(b, m[k]); err != nil {
			return nil, under(err, k)
		}
	}
	return append(b, '}'), nil
}

func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case json.Number:
		if !json.Valid([]byte(v)) {
			return nil, &valueError{value: "a number that is none"}
		}
		return append(b, v...), nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return append(b, "null"...), nil
		}
		return append(b, java.Double(v)...), nil
	case string:
		return appendString(b, v), nil
	case []any:
		return appendList(b, v)
	case map[string]any:
		return appendMap(b, v)
	case Conf:
		return appendMap(b, v)
	default:
		return nil, &valueError{value: fmt.Sprintf("a %T", v)}
	}
}

func appendList(b []byte, list []any) ([]byte, error) {
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, e); err != nil {
			return nil, under(err, strconv.Itoa(i))
		}
	}
	return append(b, ']'), nil
}

// appendString quotes s for JSON without the escapes of HTML characters that encoding/json adds by default.
func appendString(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string always encodes
		return strconv.AppendQuote(b, s)
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// kind names the type of a Conf value for an error text.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int64, json.Number:
		return "an integer"
	case float64:
		return "a float"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any, Conf:
		return "a map"
	default:
		return fmt.Sprintf("a %T", v)
	}
}
