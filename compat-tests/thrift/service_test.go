// SPDX-License-Identifier: Apache-2.0

// Storm's client against our server, our client against Storm's server, and
// both servers against the same bytes.

package thrift

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/google/go-cmp/cmp"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// maxFrame is what Storm's server allows by default.
const maxFrame = 1 << 20

// stub answers as NimbusServer.java does.
type stub struct{ storm.Nimbus }

func (stub) GetLeader(context.Context) (*storm.NimbusSummary, error) { return nil, nil } //nolint:nilnil // stock may answer null

func (stub) IsTopologyNameAllowed(context.Context, string) (bool, error) { return true, nil }

func (stub) UploadChunk(_ context.Context, location string, chunk []byte) error {
	if location != strconv.Itoa(len(chunk)) {
		return fmt.Errorf("chunk of %d bytes, not %s", len(chunk), location)
	}
	return nil
}

func (stub) GetClusterInfo(context.Context) (*storm.ClusterSummary, error) {
	owner := "流"
	topology := storm.NewTopologySummary()
	topology.ID, topology.Name, topology.Status, topology.Owner = "wörds-1-2", "wörds", "ACTIVE", &owner
	topology.NumTasks, topology.NumExecutors, topology.NumWorkers, topology.UptimeSecs = 3, 3, 1, 17
	leader := storm.NewNimbusSummary()
	leader.Host, leader.Port, leader.UptimeSecs, leader.IsLeader, leader.Version = "here", 6627, 5, true, "v"
	return &storm.ClusterSummary{
		Supervisors: []*storm.SupervisorSummary{},
		Topologies:  []*storm.TopologySummary{topology},
		Nimbuses:    []*storm.NimbusSummary{leader},
	}, nil
}

func (stub) GetTopologyConf(_ context.Context, id string) (string, error) {
	switch id {
	case "declared":
		return "", &storm.NotAliveException{Msg: "declared is not alive"}
	case "undeclared":
		return "", errors.New("on purpose")
	case "application":
		return "", thrift.NewTApplicationException(thrift.MISSING_RESULT, "of the handler")
	case "large":
		return strings.Repeat("x", maxFrame), nil
	}
	return id, nil
}

// serve runs our server until the test ends, with TLS where cfg is not nil.
func serve(t *testing.T, cfg *tls.Config) string {
	t.Helper()
	s := rpc.New(rpc.Config{Addr: "127.0.0.1:0", MaxFrame: maxFrame, TLS: cfg}, storm.NewNimbusProcessor(stub{}), zaptest.NewLogger(t))
	addr, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return addr.String()
}

// serveStock runs Storm's server until the test ends, or with arguments Thrift's.
func serveStock(t *testing.T, args ...string) string {
	t.Helper()
	cmd := java(t, "NimbusServer", args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // the program ends with its input
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("stock server told no port: %v", err)
	}
	return net.JoinHostPort("127.0.0.1", strings.TrimSpace(line))
}

func TestStormClientAgainstOurServer(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(serve(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	out, err := java(t, "NimbusCalls", port).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(seen, string(out)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// seen is what Storm's client sees of our server.
const seen = `leader: TApplicationException 5 getLeader failed: unknown result
allowed: true
conf: {"größe": "流"}
declared: NotAliveException declared is not alive
undeclared: TApplicationException 6 Internal error processing getTopologyConf
application: TApplicationException 5 of the handler
upload: 0
upload: 307200
upload: 524288
cluster: wörds 流 here 0
large reply: TApplicationException 6 Internal error processing getTopologyConf: the reply is above the limit of 1048576 bytes
after: after
large request: TTransportException
short connections: 300
`

func TestOurClientAgainstStormServer(t *testing.T) {
	t.Parallel()
	addr := serveStock(t)
	client, err := rpc.Dial(t.Context(), addr, rpc.ClientConfig{MaxFrame: maxFrame, CallTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	nimbus := storm.NewNimbusClient(client)

	if got, err := nimbus.GetTopologyConf(t.Context(), "{\"größe\": \"流\"}"); err != nil || got != "{\"größe\": \"流\"}" {
		t.Errorf("echo: %q, %v", got, err)
	}
	_, err = nimbus.GetTopologyConf(t.Context(), "declared")
	var gone *storm.NotAliveException
	if !errors.As(err, &gone) || gone.Msg != "declared is not alive" {
		t.Errorf("declared: %v", err)
	}
	_, err = nimbus.GetTopologyConf(t.Context(), "undeclared")
	var app thrift.TApplicationException
	if !errors.As(err, &app) || app.TypeId() != thrift.INTERNAL_ERROR || app.Error() != "Internal error processing getTopologyConf" {
		t.Errorf("undeclared: %v", err)
	}
	if err := nimbus.UploadChunk(t.Context(), "307200", make([]byte, 307200)); err != nil {
		t.Errorf("upload: %v", err)
	}
	info, err := nimbus.GetClusterInfo(t.Context())
	want, _ := stub{}.GetClusterInfo(t.Context())
	if err != nil || !want.Equals(info) {
		t.Errorf("cluster: %v, %v", info, err)
	}
	if got, err := nimbus.GetLeader(t.Context()); got != nil || !errors.As(err, &app) || app.TypeId() != thrift.MISSING_RESULT {
		t.Errorf("leader: %v, %v", got, err)
	}
}

// ask sends bytes and returns the frame that comes back, or nothing when the server closes.
func ask(t *testing.T, addr string, b []byte) []byte {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write(b) // the server may close before all is written
	head := make([]byte, 4)
	if _, err := io.ReadFull(c, head); err != nil {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return []byte("still waiting")
		}
		return nil
	}
	body := make([]byte, binary.BigEndian.Uint32(head))
	if _, err := io.ReadFull(c, body); err != nil {
		t.Fatalf("half an answer: %v", err)
	}
	return body
}

func framed(parts ...[]byte) []byte {
	b := bytes.Join(parts, nil)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// head is the head of a versioned call.
func head(method string) []byte {
	b := []byte{0x80, 1, 0, 1, 0, 0, 0, byte(len(method))}
	return append(append(b, method...), 0, 0, 0, 7)
}

func encoded(t *testing.T, s thrift.TStruct) []byte {
	t.Helper()
	b, err := rpc.Encode(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBothServersAnswerAlike compares byte by byte. One thing is not among
// them: for a frame above its buffer Storm's server waits for ever, at full
// load, while ours closes the connection at once.
func TestBothServersAnswerAlike(t *testing.T) {
	t.Parallel()
	ours, stock := serve(t, nil), serveStock(t)
	conf := func(id string) []byte { return encoded(t, &storm.NimbusGetTopologyConfArgs{ID: id}) }
	unversioned := append([]byte{0, 0, 0, 15}, "getTopologyConf\x01\x00\x00\x00\x07"...)
	for _, test := range []struct {
		name   string
		frame  []byte
		answer bool
	}{
		{"Reply", framed(head("getTopologyConf"), conf("x")), true},
		{"Unversioned", framed(unversioned, conf("x")), true},
		{"Declared", framed(head("getTopologyConf"), conf("declared")), true},
		{"Undeclared", framed(head("getTopologyConf"), conf("undeclared")), true},
		{"Application", framed(head("getTopologyConf"), conf("application")), true},
		{"Null", framed(head("getLeader"), []byte{0}), true},
		{"Void", framed(head("uploadChunk"), encoded(t, &storm.NimbusUploadChunkArgs{Location: "1", Chunk: []byte{1}})), true},
		{"Struct", framed(head("getClusterInfo"), []byte{0}), true},
		{"UnknownMethod", framed(head("noSuchMethod"), []byte{0}), true},
		{"UnknownField", framed(head("isTopologyNameAllowed"), []byte{thrift.I64, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0}), true},
		{"EmptyName", framed(head(""), []byte{0}), true},
		{"TrailingBytes", framed(head("getLeader"), []byte{0, 1, 2, 3}), true},
		{"FrameOfNothing", []byte{0, 0, 0, 0}, false},
		{"FrameOfTwoGigabytes", []byte{0x7f, 0xff, 0xff, 0xff, 1}, false},
		{"FrameOfLessThanNothing", []byte{0xff, 0xff, 0xff, 0xff, 1}, false},
		{"OtherVersion", framed([]byte{0x80, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0}), false},
	} {
		got, want := ask(t, ours, test.frame), ask(t, stock, test.frame)
		if diff := cmp.Diff(sorted(t, want), sorted(t, got)); diff != "" {
			t.Errorf("%s: (-stock +ours)\n%s\nstock %q\nours  %q", test.name, diff, want, got)
		}
		if (want != nil) != test.answer {
			t.Errorf("%s: stock answers %q", test.name, want)
		}
	}
}

// sorted puts the fields of an answer in order: Java writes them in that of
// their declaration, which the IDL cannot know.
func sorted(t *testing.T, answer []byte) []byte {
	t.Helper()
	if len(answer) < 12 {
		return answer
	}
	cut := 12 + int(binary.BigEndian.Uint32(answer[4:]))
	if cut > len(answer) {
		return answer
	}
	body, err := canonical(answer[cut:])
	if err != nil {
		t.Errorf("%q: %v", answer, err)
	}
	return append(bytes.Clone(answer[:cut]), body...)
}
