// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.Iterator;
import java.util.Map;

/** Iterates over a state, decoding as it goes. */
final class KeyValueStateIterator<K, V> implements Iterator<Map.Entry<K, V>> {
    private final Iterator<TaskState.Entry> entries;
    private final Encoding<K, V> encoding;

    KeyValueStateIterator(Iterator<TaskState.Entry> entries, Encoding<K, V> encoding) {
        this.entries = entries;
        this.encoding = encoding;
    }

    @Override
    public boolean hasNext() {
        return entries.hasNext();
    }

    @Override
    public Map.Entry<K, V> next() {
        TaskState.Entry entry = entries.next();
        return new SimpleImmutableEntry<>(encoding.keys().deserialize(entry.key()), encoding.values().deserialize(entry.value()));
    }
}
