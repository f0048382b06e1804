// SPDX-License-Identifier: Apache-2.0

// A client that sends what it likes, byte by byte.

package server

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/gust-stream/gust/zookeeper/jute"
)

type rawClient struct {
	t        *testing.T
	nc       net.Conn
	session  int64
	password []byte
}

func dialRaw(t *testing.T, addr string) *rawClient {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(wait)); err != nil {
		t.Fatal(err)
	}
	return &rawClient{t: t, nc: nc}
}

func (r *rawClient) send(frame []byte) {
	r.t.Helper()
	if _, err := r.nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)); err != nil {
		r.t.Fatal(err)
	}
}

// receive returns the next frame, nil when the server has closed the connection.
func (r *rawClient) receive() []byte {
	r.t.Helper()
	var head [4]byte
	if _, err := io.ReadFull(r.nc, head[:]); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			r.t.Fatal("neither an answer nor a closed connection")
		}
		return nil
	}
	frame := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(r.nc, frame); err != nil {
		r.t.Fatal(err)
	}
	return frame
}

func helloFrame(timeout int32, session int64, password []byte) []byte {
	b := jute.AppendInt(nil, 0)
	b = jute.AppendLong(b, 0)
	b = jute.AppendInt(b, timeout)
	b = jute.AppendLong(b, session)
	b = jute.AppendBuffer(b, password)
	return jute.AppendBool(b, false)
}

// hello opens a session.
func (r *rawClient) hello(timeout int32) {
	r.t.Helper()
	r.send(helloFrame(timeout, 0, make([]byte, 16)))
	d := jute.NewDecoder(r.receive())
	d.Int()
	d.Int()
	r.session, r.password = d.Long(), d.Buffer()
	if d.Err() != nil || r.session == 0 {
		r.t.Fatalf("no session: %v", d.Err())
	}
}

func requestFrame(xid int32, op jute.Op, body []byte) []byte {
	return append(jute.AppendInt(jute.AppendInt(nil, xid), int32(op)), body...)
}

// ask sends a request and returns the answer's code.
func (r *rawClient) ask(op jute.Op, body []byte) jute.Code {
	r.t.Helper()
	r.send(requestFrame(1, op, body))
	d := jute.NewDecoder(r.receive())
	d.Int()
	d.Long()
	code := jute.Code(d.Int())
	if d.Err() != nil {
		r.t.Fatalf("answer: %v", d.Err())
	}
	return code
}

func createBody(path string, data []byte, flags int32) []byte {
	return jute.Write{
		Op: jute.OpCreate, Path: path, Data: data, Flags: flags,
		ACL: []jute.ACL{{Perms: jute.PermAll, ID: jute.ID{Scheme: "world", ID: "anyone"}}},
	}.Append(nil)
}

// create makes an ephemeral znode.
func (r *rawClient) create(path string) {
	r.t.Helper()
	if code := r.ask(jute.OpCreate, createBody(path, nil, jute.FlagEphemeral)); code != jute.OK {
		r.t.Fatalf("create %s: %v", path, code)
	}
}
