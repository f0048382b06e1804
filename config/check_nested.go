// SPDX-License-Identifier: Apache-2.0

// Checks of lists and maps.

package config

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// nested checks a value inside a list or map; pd is the beginning of the texts.
type nested func(pd, name string, v any) bool

// instance passes null and values of a class.
func (r *refuser) instance(class string) nested {
	return func(pd, name string, v any) bool {
		if v == nil || isInstance(class, v) {
			return true
		}
		return r.refuse("%s%s must be a %s. (%s)", pd, name, class, r.shown(v))
	}
}

// list checks that a value is a list and each element passes. At the top pd is the word null: Storm puts a null reference there,
// and its texts say so.
func (r *refuser) list(pd, name string, v any, each nested) bool {
	if v == nil {
		return true
	}
	list, ok := v.([]any)
	if !ok {
		return r.refuse("Field %s must be an Iterable but was a class %s", name, r.class(v))
	}
	for _, e := range list {
		if !each(pd+"Each element of the list ", name, e) {
			return false
		}
	}
	return true
}

// mapping checks that a value is a map, and each key and value passes.
func (r *refuser) mapping(name string, v any, key, value nested) bool {
	if v == nil {
		return true
	}
	m, ok := v.(map[string]any)
	if !ok {
		return r.refuse("Field %s must be a Map", name)
	}
	for _, k := range r.keys(m) {
		if !key("Each key of the map ", name, k) || !value("Each value in the map ", name, m[k]) {
			return false
		}
	}
	return true
}

func (r *refuser) noDuplicates(name string, v any) bool {
	if v == nil {
		return true
	}
	if !r.simple(name, "java.lang.Iterable", v) {
		return false
	}
	seen := map[string]bool{}
	list, _ := v.([]any) // simple has seen to it
	for _, e := range list {
		// As JSON two values are the same text just when Java calls them equal: 1 and 1.0 and "1" differ.
		id, err := valueJSON(name, e)
		if err != nil {
			return r.crash("%s", err)
		}
		if seen[string(id)] {
			return r.refuse("%s should contain no duplicate elements. Duplicated element: %s", name, r.shown(e))
		}
		seen[string(id)] = true
	}
	return true
}

func (r *refuser) listCustom(name string, validators []string, v any) bool {
	if v == nil {
		return true
	}
	if !r.simple(name, "java.lang.Iterable", v) {
		return false
	}
	list, _ := v.([]any) // simple has seen to it
	for _, e := range list {
		for _, class := range validators {
			if !r.validator(class, name+" list entry", e) {
				return false
			}
		}
	}
	return true
}

func (r *refuser) mapCustom(name string, keys, values []string, v any) bool {
	if v == nil {
		return true
	}
	if !r.simple(name, "java.util.Map", v) {
		return false
	}
	m, _ := v.(map[string]any) // simple has seen to it
	for _, k := range r.keys(m) {
		for _, class := range keys {
			if !r.validator(class, name+" Map key", k) {
				return false
			}
		}
		for _, class := range values {
			if !r.validator(class, name+" Map value", m[k]) {
				return false
			}
		}
	}
	return true
}

// exactlyOne tries several validators, of which one has to pass.
func (r *refuser) exactlyOne(name string, validators []string, v any) bool {
	if v == nil {
		return true
	}
	var passed []string
	faults := map[string]*FaultError{}
	for _, class := range validators {
		try := refuser{dialect: r.dialect, key: r.key}
		if try.validator(class, name+" "+class[lastDollar(class)+1:]+" value", v); try.fault == nil {
			passed = append(passed, class)
		} else {
			faults[class] = try.fault
		}
	}
	switch len(passed) {
	case 1:
		return true
	case 0:
		order := slices.Sorted(slices.Values(validators))
		sortByHash(order)
		parts := make([]string, len(order))
		for i, class := range order {
			exception := "java.lang.IllegalArgumentException"
			if faults[class].Internal {
				exception = "java.lang.RuntimeException"
			}
			parts[i] = class + ":" + exception + ": " + faults[class].Text
		}
		return r.refuse("Field %s must be one of %s; parse errors are \n\t%s", name, strings.Join(validators, ", "), strings.Join(parts, ";\n\t"))
	default:
		sortByHash(passed)
		return r.refuse("Field %s must match exactly one of %s", name, strings.Join(passed, ", "))
	}
}

func (r *refuser) kryoRegister(name string, v any) bool {
	if v == nil {
		return true
	}
	list, ok := v.([]any)
	if !ok {
		return r.refuse("Field %s must be an Iterable containing only Strings or Maps of Strings", name)
	}
	for _, e := range list {
		good := false
		switch e := e.(type) {
		case string:
			good = true
		case map[string]any:
			good = true
			for _, class := range e {
				_, ok := class.(string)
				good = good && ok
			}
		}
		if !good {
			return r.refuse("Each element of the list %s must be a String or a Map of Strings", name)
		}
	}
	return true
}

// blobstoreMap checks a map of maps, in which nothing may be null.
func (r *refuser) blobstoreMap(name string, v any) bool {
	notNull := func(v any) bool {
		if v != nil {
			return true
		}
		return r.refuse("Field %s must not be null", name)
	}
	anything := r.instance("java.lang.Object")
	return notNull(v) && r.mapping(name, v, r.instance("java.lang.String"), func(_, name string, v any) bool {
		return notNull(v) && r.mapping(name, v, r.instance("java.lang.String"), anything)
	})
}

// entries returns a value as a map that has the keys asked for.
func (r *refuser) entries(name string, v any, keys ...string) (map[string]any, bool) {
	if !r.simple(name, "java.util.Map", v) {
		return nil, false
	}
	m, _ := v.(map[string]any) // simple has seen to it
	for _, k := range keys {
		if _, ok := m[k]; !ok {
			return nil, r.refuse("Field %s must have map entry with key: %s", name, k)
		}
	}
	return m, true
}

// registry checks an entry that names a class, and maybe how many tasks it gets.
func (r *refuser) registry(name string, v any, keys ...string) bool {
	if v == nil {
		return true
	}
	m, ok := r.entries(name, v, keys...)
	if !ok || !r.simple(name, "java.lang.String", m["class"]) {
		return false
	}
	return !slices.Contains(keys, "parallelism.hint") || r.integer(name, m["parallelism.hint"])
}

func (r *refuser) eventLogger(name string, v any) bool {
	if v == nil {
		return true
	}
	m, ok := r.entries(name, v, "class")
	return ok && r.simple(name, "java.lang.String", m["class"]) && r.simple(name, "java.util.Map", m["arguments"])
}

func (r *refuser) metricReporter(name string, v any) bool {
	if v == nil {
		return true
	}
	m, ok := r.entries(name, v, "class")
	if !ok {
		return false
	}
	if filter, has := m["filter"]; has {
		f, ok := filter.(map[string]any)
		if !ok { // Storm's cast ends the call here
			return r.crash("Field %s must have a map as filter", name)
		}
		if !r.simple("class", "java.lang.String", f["class"]) {
			return false
		}
	}
	return r.simple(name, "java.lang.String", m["class"])
}

func (r *refuser) resourcePool(name string, v any) bool {
	if v == nil {
		return true
	}
	m, ok := r.entries(name, v, "cpu", "memory")
	return ok && r.simple(name, "java.lang.Number", m["cpu"]) && r.simple(name, "java.lang.Number", m["memory"])
}

func (r *refuser) impersonation(name string, v any) bool {
	if v == nil {
		return true
	}
	str := r.instance("java.lang.String")
	hosts := func(pd, name string, v any) bool { return r.list(pd, name, v, str) }
	if !r.mapping(name, v, str, hosts) {
		return false
	}
	m, _ := v.(map[string]any) // mapping has seen to it
	for _, k := range []string{"hosts", "groups"} {
		if _, ok := m[k]; !ok {
			return r.refuse("%s should contain Map entry with key: %s", name, k)
		}
	}
	return true
}

func (r *refuser) numa(name string, v any) bool {
	if v == nil {
		return true
	}
	m, ok := v.(map[string]any)
	if !ok { // Storm's cast ends the call here
		return r.crash("Field %s must be a Map", name)
	}
	for _, k := range []string{"numa.cores", "numa.memory.mb", "numa.ports"} {
		if _, ok := m[k]; !ok {
			return r.refuse("The numa configuration key [%s] is missing!", k)
		}
	}
	cores, ok := m["numa.cores"].([]any)
	if !ok {
		return r.crash("Field %s must have a list as numa.cores", name)
	}
	seen := map[any]bool{}
	for _, c := range cores {
		switch c.(type) {
		case map[string]any, []any:
			return r.crash("Field %s must have a list of integers as numa.cores", name)
		}
		if seen[c] {
			return r.refuse("Duplicate cores in NUMA config")
		}
		seen[c] = true
	}
	return true
}

func (r *refuser) listOfLists(name string, v any) bool {
	if v == nil {
		return true
	}
	list, good := v.([]any)
	for _, e := range list {
		inner, ok := e.([]any)
		good = good && ok
		for _, s := range inner {
			_, ok := s.(string)
			good = good && ok
		}
	}
	if good {
		return true
	}
	return r.refuse("Field %s must be an Iterable containing only List of List of Strings", name)
}

// Words of topology.ras.constraints.
const (
	maxNodeCoLocationCnt   = "maxNodeCoLocationCnt"
	incompatibleComponents = "incompatibleComponents"
)

func (r *refuser) rasConstraints(name string, v any) bool {
	if v == nil {
		return true
	}
	m, ok := v.(map[string]any)
	if !ok {
		return r.refuse("Field %s must be an Iterable containing only Map of Maps", name)
	}
	for _, comp := range r.keys(m) {
		rules, ok := m[comp].(map[string]any)
		if !ok {
			return r.refuse(`Field %s, component %s, expecting constraints Map with keys ["%s", "%s"], in "%s"`,
				name, comp, maxNodeCoLocationCnt, incompatibleComponents, r.shown(v))
		}
		for _, kind := range r.keys(rules) {
			if !r.rasConstraint(name, comp, kind, rules[kind], v) {
				return false
			}
		}
	}
	return true
}

func (r *refuser) rasConstraint(name, comp, kind string, rule, whole any) bool {
	switch kind {
	case maxNodeCoLocationCnt:
		n, err := strconv.ParseInt(r.text(rule), 10, 64)
		if err != nil || n < math.MinInt32 || n > math.MaxInt32 {
			return r.refuse(`Field %s, component %s, constraint %s should be a number, not "%s"`, name, comp, kind, r.shown(rule))
		}
		return true
	case incompatibleComponents:
		list, _ := rule.([]any) // Storm lets pass what is neither string nor list
		for _, other := range list {
			if _, ok := other.(string); !ok {
				return r.refuse(`Field %s, component %s, constraintType "%s", expecting incompatible component-name, found instance of class "%s" value "%s"`,
					name, comp, kind, r.class(rule), r.shown(other))
			}
		}
		return true
	default:
		return r.refuse(`Field %s, component %s, has unsupported constraintType "%s", expecting one of ["%s", "%s"], in "%s"`,
			name, comp, kind, maxNodeCoLocationCnt, incompatibleComponents, r.shown(whole))
	}
}
