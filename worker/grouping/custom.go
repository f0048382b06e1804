// SPDX-License-Identifier: Apache-2.0

package grouping

// This file makes the one custom grouping that is known here.

import (
	"fmt"

	"github.com/gust-stream/gust/topology/engine"
)

// newCustom makes a partial key grouping. One that names no fields has the text of the first value for its key.
func newCustom(object []byte, c *Context, tasks []int32) (Grouping, error) {
	names, err := engine.PartialKeyFields(object)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrCustom)
	}
	if names == nil {
		return newPartial(nil, tasks), nil
	}
	index, err := places(names, c.Fields)
	if err != nil {
		return nil, fmt.Errorf("partial key grouping: %w", err)
	}
	return newPartial(index, tasks), nil
}
