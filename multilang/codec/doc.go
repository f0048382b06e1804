// SPDX-License-Identifier: Apache-2.0

// Package codec reads and writes the messages of the multilang protocol: JSON with "end" lines as Storm has it, or msgpack as pystorm
// frames it. Parent and child share it. It stands for Storm's JsonSerializer, but keeps what that loses: integers of any size, NaN
// and the infinities, and lone surrogates, which a string holds as the three bytes that WTF-8 gives them.
//
// It knows values and where a message ends, not what messages mean.
package codec
