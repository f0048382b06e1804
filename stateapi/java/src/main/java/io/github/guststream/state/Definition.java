// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

/** Whose state it is, and what must stay the same from one opening to the next. */
record Definition(String topology, String owner, String component, int task, int tasks, int shards, String encoder) {
    static final int DEFAULT_SHARDS = 32;

    @Override
    public String toString() {
        return "state of task " + task + " of " + component + " in topology " + topology + " of " + owner;
    }
}
