// SPDX-License-Identifier: Apache-2.0

// Values given on the command line: -c key=value, and the list form that a Java process gets as -Dstorm.options.

package config

import (
	"fmt"
	"net/url"
	"strings"
)

// ParseOverride reads "key=value" as the CLI's -c takes it: the value is JSON if it parses as such, if need be with the quotes
// left out, else the text itself. So 8 is an integer, "8" in quotes a string, abc a string, and [a,b], which is what a shell
// leaves of ["a","b"], a list of strings. An empty value is the empty string.
func ParseOverride(option string) (key string, value any, err error) {
	key, text, ok := strings.Cut(option, "=")
	if !ok {
		return "", nil, fmt.Errorf("option %q: want key=value", option)
	}
	if key == "" {
		return "", nil, fmt.Errorf("option %q: the key before = is empty", option)
	}
	if v, err := parseJSONValue([]byte(text)); err == nil {
		return key, v, nil
	}
	if v, ok := parseLenient(text); ok {
		return key, v, nil
	}
	return key, text, nil
}

// ParseOverrides reads several options; of a key given twice the last counts.
func ParseOverrides(options []string) (Conf, error) {
	out := make(Conf, len(options))
	for _, o := range options {
		k, v, err := ParseOverride(o)
		if err != nil {
			return nil, err
		}
		out[k] = v
	}
	return out, nil
}

// StormOptions writes overrides in the form that a Java process of Storm reads from its property storm.options: each key=value
// escaped as in a URL's query, joined by commas. Strings are written as JSON strings, so that "8" stays a string there.
func StormOptions(overrides Conf) (string, error) {
	parts := make([]string, 0, len(overrides))
	for _, k := range overrides.Keys() {
		b, err := valueJSON(k, overrides[k])
		if err != nil {
			return "", err
		}
		parts = append(parts, url.QueryEscape(k+"="+string(b)))
	}
	return strings.Join(parts, ","), nil
}
