// SPDX-License-Identifier: Apache-2.0

package flux

// This file replaces ${...} before the YAML is read, and reads the files of properties that the values come from.

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// variable is ${name}, ${ENV-name} or ${name[0]}.
var variable = regexp.MustCompile(`\$\{([^}\n]+)\}`)

// gap is a variable without a value.
type gap struct {
	line int
	name string
}

// substitute replaces what it has values for. Without properties and environment nothing is a variable.
func substitute(text string, o Options) (string, []gap) {
	if o.Properties == nil && o.Env == nil {
		return text, nil
	}
	var gaps []gap
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = variable.ReplaceAllStringFunc(line, func(found string) string {
			name := found[2 : len(found)-1]
			if value, ok := lookup(name, o); ok {
				return value
			}
			gaps = append(gaps, gap{i + 1, name})
			return found
		})
	}
	return strings.Join(lines, "\n"), gaps
}

func lookup(name string, o Options) (string, bool) {
	if env, ok := strings.CutPrefix(name, "ENV-"); ok && o.Env != nil {
		return o.Env(env)
	}
	if value, ok := o.Properties[name]; ok {
		return value, true
	}
	list, index, ok := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	if !ok || !strings.HasSuffix(name, "]") {
		return "", false
	}
	return element(o.Properties[list], index)
}

// element gives one of a list that is written ["a", "b"]. Flux takes a character off both ends of each, whatever it is.
func element(list, index string) (string, bool) {
	n, err := strconv.Atoi(index)
	if err != nil || len(list) < 2 {
		return "", false
	}
	elements := strings.Split(list[1:len(list)-1], ",")
	if n < 0 || n >= len(elements) {
		return "", false
	}
	e := strings.TrimSpace(elements[n])
	if len(e) < 2 {
		return "", false
	}
	return e[1 : len(e)-1], true
}

// ParseProperties reads a file of Java's properties.
func ParseProperties(data []byte) (map[string]string, error) {
	out := map[string]string{}
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		first := i
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continues(line) && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(lines[i], " \t\f")
		}
		key, value := splitProperty(line)
		for _, part := range []*string{&key, &value} {
			text, err := unescape(*part)
			if err != nil {
				return nil, fmt.Errorf("properties: line %d: %w", first+1, err)
			}
			*part = text
		}
		out[key] = value
	}
	return out, nil
}

// continues says whether a line ends in an odd number of backslashes.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

func splitProperty(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte("=: \t\f", line[i]) >= 0 {
			end = i
			break
		}
	}
	value = strings.TrimLeft(line[end:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], " \t\f")
	}
	return line[:end], value
}

func unescape(s string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't':
			out.WriteByte('\t')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 'f':
			out.WriteByte('\f')
		case 'u':
			if i+5 > len(s) {
				return "", fmt.Errorf("%q ends too early", s[i-1:])
			}
			n, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", fmt.Errorf("%q is no character", s[i-1:i+5])
			}
			out.WriteRune(rune(n))
			i += 4
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String(), nil
}
