// SPDX-License-Identifier: Apache-2.0

// Package frame writes and reads the frames that Storm's workers send each other, and the tuples in them. It stands for Storm's
// MessageDecoder, MessageBatch, KryoTupleSerializer and KryoTupleDeserializer. It opens no connection: that is package link.
package frame
