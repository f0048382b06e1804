// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/zookeeper/jute"
)

// refuser is a server of the ZooKeeper protocol that greets and then refuses every request with a code.
func refuser(t *testing.T, code int32) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go refuse(conn, code)
		}
	}()
	return l.Addr().String()
}

func refuse(conn net.Conn, code int32) {
	defer func() { _ = conn.Close() }()
	frame := func() []byte {
		var length [4]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return nil
		}
		body := make([]byte, int(length[2])<<8|int(length[3])) // requests of this test are short
		if _, err := io.ReadFull(conn, body); err != nil {
			return nil
		}
		return body
	}
	answer := func(body []byte) { _, _ = conn.Write(append(jute.AppendInt(nil, int32(len(body))), body...)) }
	if frame() == nil {
		return
	}
	greeting := jute.AppendInt(nil, 0)                                            // protocol version
	greeting = jute.AppendInt(greeting, 10_000)                                   // session timeout, ms
	greeting = append(greeting, 0, 0, 0, 0, 0, 0, 0, 1)                           // session id
	answer(append(greeting, append([]byte{0, 0, 0, 16}, make([]byte, 16)...)...)) // password
	for body := frame(); len(body) >= 4; body = frame() {
		header := append([]byte(nil), body[:4]...) // xid
		header = append(header, 0, 0, 0, 0, 0, 0, 0, 0)
		answer(jute.AppendInt(header, code))
	}
}

// TestFullDiskHasAName tells a cluster state without room from one that cannot be reached.
func TestFullDiskHasAName(t *testing.T) {
	t.Parallel()
	conn, _, err := zk.Connect([]string{refuser(t, int32(jute.OperationTimeout))}, 10*time.Second, zk.WithLogger(silence{}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := &State{conn: conn, done: make(chan struct{}), log: zap.NewNop()}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = s.set(ctx, "/node", []byte("data"))
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a refused change is %v, not %v", err, syscall.ENOSPC)
	}
}

type silence struct{}

func (silence) Printf(string, ...any) {}
