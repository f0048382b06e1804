// SPDX-License-Identifier: Apache-2.0

// The client against servers that answer late, wrongly or not at all.

package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/gust-stream/gust/thrift/storm"
)

func TestClientEndsWithItsContext(t *testing.T) {
	t.Parallel()
	nimbus, entered := blocking(func(ctx context.Context) { <-ctx.Done() })
	s := start(t, Config{ShutdownGrace: 20 * time.Millisecond}, nimbus)

	for name, test := range map[string]struct {
		cfg  ClientConfig
		want error
		ctx  func() (context.Context, context.CancelFunc)
	}{
		"Cancel": {want: context.Canceled, ctx: func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-entered
				cancel()
			}()
			return ctx, cancel
		}},
		"Deadline": {want: context.DeadlineExceeded, ctx: func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 20*time.Millisecond)
		}},
		"CallTimeout": {cfg: ClientConfig{CallTimeout: 20 * time.Millisecond}, want: context.DeadlineExceeded, ctx: func() (context.Context, context.CancelFunc) {
			return context.WithCancel(t.Context())
		}},
	} {
		c, client := dialTest(t, s.addr, test.cfg)
		ctx, cancel := test.ctx()
		_, err := client.GetTopologyConf(ctx, "x")
		cancel()
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), s.addr) || !strings.Contains(err.Error(), "getTopologyConf") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := client.GetTopologyConf(t.Context(), "x"); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: the call after: %v", name, err)
		}
		if c.Peer() != s.addr {
			t.Errorf("peer is %s, want %s", c.Peer(), s.addr)
		}
	}
	_, client := dialTest(t, s.addr, ClientConfig{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.GetTopologyConf(ended, "x"); !errors.Is(err, context.Canceled) || errors.Is(err, ErrBroken) {
		t.Errorf("context ended before: %v", err)
	}
}

func TestClientBoundsFrames(t *testing.T) {
	t.Parallel()
	handler := echo()
	handler.topologyConf = func(_ context.Context, id string) (string, error) { return strings.Repeat(id, 1000), nil }
	s := start(t, Config{}, handler)
	_, client := dialTest(t, s.addr, ClientConfig{MaxFrame: 2000})
	var size *FrameSizeError

	_, err := client.GetTopologyConf(t.Context(), strings.Repeat("x", 2000))
	if !errors.As(err, &size) || size.Limit != 2000 || size.Size <= 2000 {
		t.Errorf("large request: %v", err)
	}
	if got, err := client.GetTopologyConf(t.Context(), "x"); err != nil || len(got) != 1000 {
		t.Errorf("after a request that was not sent: %d bytes, %v", len(got), err)
	}
	_, err = client.GetTopologyConf(t.Context(), "xx")
	if !errors.As(err, &size) || !strings.Contains(err.Error(), s.addr) || size.Size < 2000 {
		t.Errorf("large reply: %v", err)
	}
	if _, err := client.GetTopologyConf(t.Context(), "x"); !errors.Is(err, ErrBroken) {
		t.Errorf("after a reply that was not read: %v", err)
	}
}

func TestClientIsSequential(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	nimbus, entered := blocking(func(context.Context) { <-release })
	s := start(t, Config{}, nimbus)
	_, client := dialTest(t, s.addr, ClientConfig{})
	ended := make(chan error, 1)
	go func() {
		_, err := client.GetTopologyConf(t.Context(), "x")
		ended <- err
	}()
	within(t, entered)
	if _, err := client.GetTopologyConf(t.Context(), "y"); !errors.Is(err, ErrBusy) {
		t.Errorf("second call: %v", err)
	}
	close(release)
	if err := within(t, ended); err != nil {
		t.Errorf("first call: %v", err)
	}
}

func TestClientCloseEndsTheCall(t *testing.T) {
	t.Parallel()
	nimbus, entered := blocking(func(ctx context.Context) { <-ctx.Done() })
	s := start(t, Config{ShutdownGrace: 20 * time.Millisecond}, nimbus)
	c, client := dialTest(t, s.addr, ClientConfig{})
	ended := make(chan error, 1)
	go func() {
		_, err := client.GetTopologyConf(t.Context(), "x")
		ended <- err
	}()
	within(t, entered)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := within(t, ended); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the running call: %v", err)
	}
}

// scripted accepts one connection, reads one frame, and answers with bytes.
func scripted(tb testing.TB, answer []byte) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		r := &frameReader{r: c, limit: DefaultMaxFrame, pool: newBufferPool(DefaultMaxFrame)}
		if _, err := r.read(context.Background(), time.Now().Add(patience)); err == nil {
			_, _ = c.Write(answer)
		}
	}()
	tb.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

func TestClientRefusesWrongAnswers(t *testing.T) {
	t.Parallel()
	result := &storm.NimbusGetTopologyConfResult{Success: new("x")}
	method := "getTopologyConf"
	for name, test := range map[string]struct {
		answer []byte
		want   string
	}{
		"OtherMethod":   {request(t, "activate", thrift.REPLY, 1, result), "wrong method name"},
		"OtherSequence": {request(t, method, thrift.REPLY, 2, result), "answer is to call 2, not 1"},
		"OtherKind":     {request(t, method, thrift.CALL, 1, result), "answer is of kind 1"},
		"NoMessage":     {framed([]byte{1, 2, 3}), "read message head"},
		"Closed":        {nil, "EOF"},
		"Half":          {request(t, method, thrift.REPLY, 1, result)[:20], "unexpected EOF"},
		"TwoGigabytes":  {[]byte{0x7f, 0xff, 0xff, 0xff}, "frame of 2147483647 bytes is above the limit of 1048576"},
		"Negative":      {[]byte{0xff, 0xff, 0xff, 0xff}, "frame of -1 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := scripted(t, test.answer)
			_, client := dialTest(t, addr, ClientConfig{})
			_, err := client.GetTopologyConf(t.Context(), "x")
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), addr) {
				t.Errorf("got %v, want %q and the address", err, test.want)
			}
			if _, err := client.GetTopologyConf(t.Context(), "x"); !errors.Is(err, ErrBroken) {
				t.Errorf("the call after: %v", err)
			}
		})
	}
}

func TestDialFaults(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts: TLS is never answered
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	cfg := ClientConfig{ConnectTimeout: 20 * time.Millisecond, TLS: &tls.Config{InsecureSkipVerify: true}}
	if _, err := Dial(t.Context(), addr, cfg); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), addr) {
		t.Errorf("nobody answers: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), addr, ClientConfig{}); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("nobody listens: %v", err)
	}
}
