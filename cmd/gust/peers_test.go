// SPDX-License-Identifier: Apache-2.0

// This file is peers of a script's gust that take what they can get.

package main

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// idle PORT N opens connections that say nothing until the script ends.
func idle(ts *testscript.TestScript, neg bool, args []string) {
	addr, n := portAndNumber(ts, neg, args)
	for i := range n {
		conn, err := net.DialTimeout("tcp", addr, 30*time.Second)
		if err != nil {
			ts.Fatalf("connection %d: %v", i, err)
		}
		ts.Defer(func() { _ = conn.Close() })
	}
}

// uploads PORT N begins uploads of JARs and goes on with none.
func uploads(ts *testscript.TestScript, neg bool, args []string) {
	addr, n := portAndNumber(ts, neg, args)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := rpc.Dial(ctx, addr, rpc.ClientConfig{})
	ts.Check(err)
	defer func() { _ = client.Close() }()
	nimbus := storm.NewNimbusClient(client)
	for i := range n {
		if _, err := nimbus.BeginFileUpload(ctx); err != nil {
			ts.Fatalf("upload %d: %v", i, err)
		}
	}
}

func portAndNumber(ts *testscript.TestScript, neg bool, args []string) (addr string, n int) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: idle|uploads PORT N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	return "127.0.0.1:" + args[0], n
}
