// SPDX-License-Identifier: Apache-2.0

// Keys that mean something to the daemons that gust replaces, and nothing to gust.

package config

import (
	"reflect"
	"strings"
)

// warnIdle gives one warning that names the keys which somebody has set to something else than their default, and which do nothing
// here: whoever has restricted who may submit should hear that nobody is held back.
func warnIdle(set Conf) []string {
	var names []string
	for _, key := range idleKeys {
		value, ok := set[key]
		if !ok || nothing(value) {
			continue
		}
		if spec, known := lookup(key); known && spec.def != "" {
			if def, err := parseJSONValue([]byte(spec.def)); err == nil && reflect.DeepEqual(def, value) {
				continue
			}
		}
		names = append(names, key)
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"set, and without effect in gust: " + strings.Join(names, ", ")}
}

// nothing is what stands for a setting that is switched off or left out.
func nothing(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
