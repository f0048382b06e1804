// SPDX-License-Identifier: Apache-2.0

package groupingtest

// This file writes values down with their Java classes: null, or a list of the class and the content.

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gust-stream/gust/tuple"
)

// Encode writes a value down.
func Encode(v any) any {
	list := func(class string, content []any) any {
		out := make([]any, len(content))
		for i, element := range content {
			out[i] = Encode(element)
		}
		return []any{class, out}
	}
	switch v := v.(type) {
	case nil:
		return nil
	case bool:
		return []any{"bool", strconv.FormatBool(v)}
	case int32:
		return []any{"int", strconv.Itoa(int(v))}
	case int64, int:
		return []any{"long", fmt.Sprint(v)}
	case int16:
		return []any{"short", strconv.Itoa(int(v))}
	case int8:
		return []any{"byte", strconv.Itoa(int(v))}
	case tuple.Char:
		return []any{"char", fmt.Sprint(v)}
	case float32:
		return []any{"float", strconv.FormatUint(uint64(math.Float32bits(v)), 10)}
	case float64:
		return []any{"double", strconv.FormatUint(math.Float64bits(v), 10)}
	case *big.Int:
		return []any{"big", v.String()}
	case []byte:
		return []any{"bytes", base64.StdEncoding.EncodeToString(v)}
	case string:
		return []any{"text", units(v)}
	case []any:
		return list("list", v)
	case tuple.Set:
		return list("set", v)
	case map[any]any:
		content := make([]any, 0, 2*len(v))
		for key, value := range v {
			content = append(content, key, value)
		}
		return list("map", content)
	}
	return []any{"text", units(fmt.Sprint(v))}
}

// units are the hexadecimal units of UTF-16.
func units(s string) string {
	var out []byte
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 && len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 {
			r, size = 0xD000|rune(s[1]&0x3F)<<6|rune(s[2]&0x3F), 3
		}
		s = s[size:]
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			out = fmt.Appendf(out, "%04x%04x", high, low)
		} else {
			out = fmt.Appendf(out, "%04x", r)
		}
	}
	return string(out)
}

// Decode reads what Encode wrote.
func Decode(encoded any) (any, error) {
	if encoded == nil {
		return nil, nil //nolint:nilnil // it is Java's null
	}
	pair, _ := encoded.([]any)
	if len(pair) != 2 {
		return nil, fmt.Errorf("no value: %v", encoded)
	}
	if content, is := pair[1].([]any); is {
		return decodeMany(pair[0], content)
	}
	text, _ := pair[1].(string)
	switch pair[0] {
	case "bool":
		return text == "true", nil
	case "float":
		bits, err := strconv.ParseUint(text, 10, 32)
		return math.Float32frombits(uint32(bits)), err
	case "double":
		bits, err := strconv.ParseUint(text, 10, 64)
		return math.Float64frombits(bits), err
	case "char":
		unit, err := strconv.ParseUint(text, 10, 16)
		return tuple.Char(unit), err
	case "big":
		v, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return nil, fmt.Errorf("no number: %q", text)
		}
		return v, nil
	case "bytes":
		return base64.StdEncoding.DecodeString(text)
	case "text":
		return decodeText(text)
	}
	v, err := strconv.ParseInt(text, 10, 64)
	switch pair[0] {
	case "int":
		return int32(v), err
	case "short":
		return int16(v), err
	case "byte":
		return int8(v), err
	}
	return v, err
}

func decodeMany(class any, content []any) (any, error) {
	values := make([]any, len(content))
	for i, element := range content {
		var err error
		if values[i], err = Decode(element); err != nil {
			return nil, err
		}
	}
	switch class {
	case "list":
		return values, nil
	case "set":
		return tuple.Set(values), nil
	}
	out, texts := map[any]any{}, map[string]any{}
	for i := 0; i+1 < len(values); i += 2 {
		out[values[i]] = values[i+1]
		if key, is := values[i].(string); is {
			texts[key] = values[i+1]
		}
	}
	if len(texts) == len(out) {
		return texts, nil
	}
	return out, nil
}

// decodeText gives UTF-8, with each surrogate that has no partner as three bytes.
func decodeText(text string) (string, error) {
	var out []byte
	var before rune
	for ; len(text) >= 4; text = text[4:] {
		unit, err := strconv.ParseUint(text[:4], 16, 16)
		if err != nil {
			return "", err
		}
		r := rune(unit)
		if both := utf16.DecodeRune(before, r); both != utf8.RuneError {
			out, before = utf8.AppendRune(out[:len(out)-3], both), 0
			continue
		}
		before = r
		if utf16.IsSurrogate(r) {
			out = append(out, 0xED, 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return string(out), nil
}
