// SPDX-License-Identifier: Apache-2.0

// Package wire compares messaging with Storm's own classes: values and tuples with its Kryo serializers, byte for byte in both
// directions, and links with its Netty client and server.
package wire
