// SPDX-License-Identifier: Apache-2.0

// Package wire is the protocol between clients of keyed state and the state server: frames, requests and answers as bytes, and the
// codes of errors. It knows no sockets and no state. stateapi/server and stateapi/client are its two ends in Go; the Java and Python
// clients speak it on their own, by stateapi/DESIGN.md.
package wire
