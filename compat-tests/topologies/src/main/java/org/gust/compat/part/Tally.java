// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.time.Instant;

/**
 * Counts what one task does into a ledger that the bench reads: "open NANOSECONDS", then for the first one and about each
 * 100 ms "acked NANOSECONDS COUNT", with "took NANOSECONDS MICROSECONDS,..." before it where times are kept, and
 * "failed NANOSECONDS" for what failed. NANOSECONDS count from 1970.
 */
final class Tally {
    private static final long EVERY = 100_000_000L;
    /** The clock is looked at this often, so that it costs a fast task nothing. A power of two. */
    private static final int LOOK = 64;

    private final Ledger ledger;
    private final StringBuilder times;
    private long count;
    private long written;

    Tally(Ledger ledger, boolean timed) {
        this.ledger = ledger;
        times = timed ? new StringBuilder() : null;
        ledger.line("open", now());
    }

    /** Notes how long the next one took, in nanoseconds. */
    void took(long nanos) {
        times.append(times.length() == 0 ? "" : ",").append(nanos / 1000);
    }

    void one() {
        if (count++ != 0 && count % LOOK != 0) {
            return;
        }
        long now = now();
        if (now - written < EVERY) {
            return;
        }
        written = now;
        if (times != null) {
            ledger.line("took", now, times);
            times.setLength(0);
        }
        ledger.line("acked", now, count);
    }

    void failed() {
        ledger.line("failed", now());
    }

    private static long now() {
        Instant instant = Instant.now();
        return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
    }
}
