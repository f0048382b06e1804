// SPDX-License-Identifier: Apache-2.0

// Package server answers clients of keyed state over a Unix socket: who may connect, who may open what, bounds on clients, frames and
// time. What states are and how they last is the store's (stateapi/shard); the protocol's bytes are stateapi/wire's. The supervisor
// runs one, and so does "gust state serve". It stands for the Redis server beside Storm's RedisKeyValueState.
package server
