// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

/** Why the state server did not do what it was asked for. */
public final class StateException extends RuntimeException {
    /** What a caller may tell apart; the server's codes in their order, then the client's own. */
    public enum Reason {
        FENCED, UNKNOWN_PREPARE, OTHER_ENCODER, OTHER_TASK_COUNT, NO_ROOM, NOT_READY, DENIED, TOO_LARGE, MALFORMED, VERSION, INTERNAL,
        /** The server did not answer for as long as a call may wait. */
        AWAY,
        /** The thread was interrupted. */
        INTERRUPTED;

        static Reason of(int code) {
            return code >= 1 && code <= INTERNAL.ordinal() + 1 ? values()[code - 1] : INTERNAL;
        }
    }

    private final Reason reason;

    StateException(Reason reason, String message) {
        this(reason, message, null);
    }

    StateException(Reason reason, String message, Throwable cause) {
        super(message, cause);
        this.reason = reason;
    }

    public Reason reason() {
        return reason;
    }
}
