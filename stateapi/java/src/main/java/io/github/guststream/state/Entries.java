// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.util.Iterator;
import java.util.NoSuchElementException;

/** Iterates over a state: first what the server has, but for what the client has changed, then those changes. */
final class Entries implements Iterator<TaskState.Entry> {
    private static final int PAGE = 1 << 20; // bytes asked for at a time

    private final TaskState state;
    private final Changes over;
    private int change = Changes.ABSENT;
    private boolean begun;
    private long cursor;
    private Body page;
    private int left; // entries in page
    private TaskState.Entry next;

    Entries(TaskState state, Changes over) {
        this.state = state;
        this.over = over;
    }

    @Override
    public boolean hasNext() {
        if (next == null) {
            next = find();
        }
        return next != null;
    }

    @Override
    public TaskState.Entry next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        TaskState.Entry found = next;
        next = null;
        return found;
    }

    private TaskState.Entry find() {
        while (true) {
            for (; left > 0; left--) {
                byte[] key = page.bytes();
                byte[] value = page.bytes();
                if (over.find(XxHash64.hash(key), key) == Changes.ABSENT) {
                    left--;
                    return new TaskState.Entry(key, value);
                }
            }
            if (begun && cursor == 0) {
                break;
            }
            begun = true;
            page = state.page(cursor, PAGE);
            cursor = page.int64();
            left = page.int32();
        }
        page = null;
        change = over.after(change == Changes.ABSENT ? 0 : change);
        while (change != Changes.ABSENT) {
            int at = change;
            change = over.next(at);
            byte[] value = over.value(at);
            if (value != null) {
                return new TaskState.Entry(over.key(at), value);
            }
            change = over.after(change);
        }
        change = Integer.MAX_VALUE;
        return null;
    }
}
