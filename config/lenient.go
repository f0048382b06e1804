// SPDX-License-Identifier: Apache-2.0

// JSON with the quotes left out, as it comes off a command line: Storm's parser takes it, so we do.

package config

import (
	"regexp"
	"strings"
)

// parseLenient reads a value as Storm's JSON parser does in its permissive mode: strings may go without quotes or with single ones,
// commas may be left over, and text after a closed value is ignored. False if even that gives no value.
func parseLenient(text string) (any, bool) {
	p := lenient{text: text}
	v, ok := p.value("", 0)
	return v, ok
}

// lenient is a reader over text; at is the position of the next byte.
type lenient struct {
	text string
	at   int
}

// peek returns the next byte that is no space, 0 at the end.
func (p *lenient) peek() byte {
	for p.at < len(p.text) {
		if c := p.text[p.at]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
		p.at++
	}
	return 0
}

// value reads one value; text without quotes goes on to one of the stop bytes.
func (p *lenient) value(stops string, depth int) (any, bool) {
	if depth > maxYAMLDepth {
		return nil, false
	}
	switch c := p.peek(); c {
	case '[':
		p.at++
		return p.list(depth)
	case '{':
		p.at++
		return p.object(depth)
	case '"', '\'':
		return p.quoted(c)
	case ']', '}', ':', ',':
		return nil, false
	default:
		word := p.bare(stops)
		if stops != "" && p.at == len(p.text) { // the list or map around it is not closed
			return nil, false
		}
		return bareValue(word), true
	}
}

func (p *lenient) list(depth int) (any, bool) {
	out := []any{}
	for {
		switch p.peek() {
		case 0:
			return nil, false
		case ']':
			p.at++
			return out, true
		case ',':
			p.at++
		default:
			v, ok := p.value(",]", depth+1)
			if !ok {
				return nil, false
			}
			out = append(out, v)
		}
	}
}

func (p *lenient) object(depth int) (any, bool) {
	out := map[string]any{}
	for {
		switch c := p.peek(); c {
		case 0:
			return nil, false
		case '}':
			p.at++
			return out, true
		case ',':
			p.at++
		default:
			key, ok := p.key(c)
			if !ok {
				return nil, false
			}
			v, ok := p.value(",}", depth+1)
			if !ok {
				return nil, false
			}
			out[key] = v
		}
	}
}

// key reads a key and the colon after it.
func (p *lenient) key(first byte) (string, bool) {
	var key string
	if first == '"' || first == '\'' {
		v, ok := p.quoted(first)
		s, isString := v.(string)
		if !ok || !isString {
			return "", false
		}
		key = s
	} else {
		key = p.bare(":,}")
	}
	if p.peek() != ':' {
		return "", false
	}
	p.at++
	return key, true
}

// bare reads text without quotes.
func (p *lenient) bare(stops string) string {
	rest := p.text[p.at:]
	end := len(rest)
	if stops != "" {
		if i := strings.IndexAny(rest, stops); i >= 0 {
			end = i
		}
	}
	p.at += end
	return strings.TrimRight(rest[:end], " \t\r\n")
}

// quoted reads a string in quotes; in single ones everything else stands as in double ones.
func (p *lenient) quoted(quote byte) (any, bool) {
	var sb strings.Builder
	sb.WriteByte('"')
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == quote:
			p.at = i + 1
			sb.WriteByte('"')
			v, err := parseJSONValue([]byte(sb.String()))
			return v, err == nil
		case c == '\\' && i+1 < len(p.text):
			i++
			if p.text[i] == '\'' {
				sb.WriteByte('\'')
			} else {
				sb.WriteString(p.text[i-1 : i+1])
			}
		case c == '"':
			sb.WriteString(`\"`)
		case c < ' ':
			escaped := appendString(nil, string(rune(c)))
			sb.Write(escaped[1 : len(escaped)-1])
		default:
			sb.WriteByte(c)
		}
	}
	return nil, false
}

// Numbers without the strictness of JSON: zeros may lead, and nothing needs to follow the point.
var (
	lenientInt   = regexp.MustCompile(`^-?[0-9]+$`)
	lenientFloat = regexp.MustCompile(`^-?[0-9]+(\.[0-9]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)$`)
)

// bareValue gives text without quotes its type.
func bareValue(s string) any {
	switch {
	case s == "true":
		return true
	case s == "false":
		return false
	case s == "null":
		return nil
	case lenientInt.MatchString(s):
		sign := ""
		if s[0] == '-' {
			sign, s = "-", s[1:]
		}
		digits := strings.TrimLeft(s, "0")
		if digits == "" {
			return int64(0)
		}
		if n, err := number(sign + digits); err == nil {
			return n
		}
	case lenientFloat.MatchString(s):
		if f, ok := parseYAMLFloat(s); ok {
			return f
		}
	}
	return s
}
