// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The fields of a message, written or read one after the other. */
final class Body {
    private ByteBuffer fields;

    Body() {
        fields = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);
    }

    Body(byte[] received) {
        fields = ByteBuffer.wrap(received).order(ByteOrder.LITTLE_ENDIAN);
    }

    byte[] array() {
        return fields.array();
    }

    int length() {
        return fields.position();
    }

    Body int16(int n) {
        room(2).putShort((short) n);
        return this;
    }

    Body int32(int n) {
        room(4).putInt(n);
        return this;
    }

    Body int64(long n) {
        room(8).putLong(n);
        return this;
    }

    Body number(int n) {
        room(5).position(Changes.putNumber(fields.array(), fields.position(), n));
        return this;
    }

    Body bytes(byte[] data) {
        number(data.length).room(data.length).put(data);
        return this;
    }

    Body text(String s) {
        return bytes(s.getBytes(StandardCharsets.UTF_8));
    }

    private ByteBuffer room(int n) {
        if (fields.remaining() < n) {
            byte[] larger = Arrays.copyOf(fields.array(), Math.max(2 * fields.capacity(), fields.position() + n));
            fields = ByteBuffer.wrap(larger).order(ByteOrder.LITTLE_ENDIAN).position(fields.position());
        }
        return fields;
    }

    int int8() {
        return there(1).get() & 0xFF;
    }

    int int16() {
        return there(2).getShort() & 0xFFFF;
    }

    int int32() {
        return there(4).getInt();
    }

    long int64() {
        return there(8).getLong();
    }

    byte[] bytes() {
        int n = 0;
        for (int shift = 0;; shift += 7) {
            byte b = there(1).get();
            n |= (b & 0x7F) << shift;
            if (b >= 0) {
                break;
            }
            if (shift >= 28) {
                throw Connection.malformed("sends a number of more than 32 bits");
            }
        }
        there(n);
        byte[] out = new byte[n];
        fields.get(out);
        return out;
    }

    String text() {
        return new String(bytes(), StandardCharsets.UTF_8);
    }

    private ByteBuffer there(int n) {
        if (n < 0 || n > fields.remaining()) {
            throw Connection.malformed("sends a message that ends too early");
        }
        return fields;
    }
}
