// SPDX-License-Identifier: Apache-2.0

// This file compares topologies by value, whatever the order of their maps and of keys in their confs.

package topology

import (
	"encoding/json"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// byValue compares inputs by what their pointers show, and confs as JSON.
func byValue() cmp.Option {
	return cmp.Options{
		cmp.Transformer("inputs", func(m map[*storm.GlobalStreamId]*storm.Grouping) map[storm.GlobalStreamId]*storm.Grouping {
			out := make(map[storm.GlobalStreamId]*storm.Grouping, len(m))
			for k, v := range m {
				out[*k] = v
			}
			return out
		}),
		cmp.FilterPath(func(p cmp.Path) bool { return strings.HasSuffix(p.String(), "JSONConf") }, cmp.Transformer("json", func(s *string) any {
			if s == nil {
				return nil
			}
			conf, err := config.ParseJSON([]byte(*s))
			if err != nil {
				return json.RawMessage(*s)
			}
			return map[string]any(conf)
		})),
	}
}
