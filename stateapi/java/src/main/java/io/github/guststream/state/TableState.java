// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.util.Iterator;
import java.util.Map;
import org.apache.storm.state.KeyValueState;

/** A task's state as Storm's bolts see it. A value is encoded when it is put: who changes an object that was put, puts it again. */
final class TableState<K, V> implements KeyValueState<K, V> {
    private final TaskState state;
    private final Encoding<K, V> encoding;

    TableState(TaskState state, Encoding<K, V> encoding) {
        this.state = state;
        this.encoding = encoding;
    }

    @Override
    public void put(K key, V value) {
        state.put(encoding.keys().serialize(key), encoding.values().serialize(value));
    }

    @Override
    public V get(K key) {
        byte[] found = state.get(encoding.keys().serialize(key));
        return found == null ? null : encoding.values().deserialize(found);
    }

    @Override
    public V get(K key, V defaultValue) {
        V found = get(key);
        return found == null ? defaultValue : found;
    }

    @Override
    public V delete(K key) {
        byte[] encoded = encoding.keys().serialize(key);
        byte[] found = state.get(encoded);
        state.delete(encoded);
        return found == null ? null : encoding.values().deserialize(found);
    }

    @Override
    public Iterator<Map.Entry<K, V>> iterator() {
        return new KeyValueStateIterator<>(state.entries(), encoding);
    }

    @Override
    public void prepareCommit(long txid) {
        state.prepare(txid);
    }

    @Override
    public void commit(long txid) {
        state.commit(txid);
    }

    @Override
    public void commit() {
        state.commitNow();
    }

    @Override
    public void rollback() {
        state.rollback();
    }
}
