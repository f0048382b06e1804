// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"testing"
)

// BenchmarkSync appends batches of 200 kB from many goroutines and waits for each.
func BenchmarkSync(b *testing.B) {
	j := open(b, b.TempDir(), Options{})
	body := make([]byte, 200<<10)
	b.SetBytes(int64(len(body)))
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, end, err := j.Append(1, body)
			if err == nil {
				err = j.Sync(context.Background(), end)
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
	if err := j.Truncate(j.End()); err != nil {
		b.Fatal(err)
	}
}
