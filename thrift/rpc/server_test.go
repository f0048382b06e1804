// SPDX-License-Identifier: Apache-2.0

// What a well-behaved client sees.

package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/thrift/storm"
)

// TestBoundsOfOwnPeers raises the bounds for requests and for answers made beforehand, and leaves that of all others.
func TestBoundsOfOwnPeers(t *testing.T) {
	t.Parallel()
	const large = 3 * DefaultMaxFrame
	answer := strings.Repeat("y", 2*DefaultMaxFrame)
	encoded, err := Encode(t.Context(), &storm.NimbusGetNimbusConfResult{Success: &answer})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{MaxRequest: large, MaxEncoded: large, Encoded: map[string]EncodedFunc{
		"getNimbusConf": func(context.Context, []byte) ([]byte, bool) { return encoded, true },
	}}, echo())
	_, nimbus := dialTest(t, s.addr, ClientConfig{MaxFrame: large})
	if got, err := nimbus.GetNimbusConf(t.Context()); err != nil || got != answer {
		t.Errorf("an answer made beforehand: %d bytes, %v", len(got), err)
	}
	_, err = nimbus.GetTopologyConf(t.Context(), answer) // the request passes, the answer does not
	if want := "6 Internal error processing getTopologyConf: the reply is above the limit of 1048576 bytes"; applicationError(err) != want {
		t.Errorf("a large request: %q, want %q", applicationError(err), want)
	}
	if got, err := nimbus.GetTopologyConf(t.Context(), "x"); err != nil || got != "x" {
		t.Errorf("the call after: %q, %v", got, err)
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	s := start(t, Config{}, echo())
	_, nimbus := dialTest(t, s.addr, ClientConfig{})
	for _, size := range []int{0, 1, 100, headLen, smallestBuffer - 40, smallestBuffer, 100_000, DefaultMaxFrame - 100} {
		id := strings.Repeat("x", size)
		got, err := nimbus.GetTopologyConf(t.Context(), id)
		if err != nil || got != id {
			t.Fatalf("%d bytes: got %d bytes, error %v", size, len(got), err)
		}
	}
}

func TestAnswersToFaults(t *testing.T) {
	t.Parallel()
	stubbed := echo()
	stubbed.topologyConf = func(_ context.Context, id string) (string, error) {
		switch id {
		case "declared":
			return "", &storm.NotAliveException{Msg: "declared is not alive"}
		case "undeclared":
			return "", errors.New("/secret/path is broken")
		case "full":
			return "", fmt.Errorf("write /secret/path: %w", syscall.ENOSPC)
		case "application":
			return "", thrift.NewTApplicationException(thrift.MISSING_RESULT, "of the handler")
		case "panic":
			panic("on purpose")
		case "large":
			return strings.Repeat("x", 4096), nil
		}
		return id, nil
	}
	s := start(t, Config{MaxFrame: 4096}, stubbed)
	client, nimbus := dialTest(t, s.addr, ClientConfig{})

	for _, test := range []struct{ id, want, log string }{
		{"undeclared", "6 Internal error processing getTopologyConf", "call failed"},
		{"full", "6 Internal error processing getTopologyConf: no space left on device", "call failed"},
		{"application", "5 of the handler", "call failed"},
		{"panic", "6 Internal error processing getTopologyConf", "handler panicked"},
		{"large", "6 Internal error processing getTopologyConf: the reply is above the limit of 4096 bytes", "reply is above the frame limit"},
	} {
		s.logs.TakeAll()
		_, err := nimbus.GetTopologyConf(t.Context(), test.id)
		if diff := cmp.Diff(test.want, applicationError(err)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.id, diff)
		}
		if s.logs.FilterMessage(test.log).Len() != 1 {
			t.Errorf("%s: logged %v, want %q", test.id, s.logs.All(), test.log)
		}
	}

	_, err := nimbus.GetTopologyConf(t.Context(), "declared")
	var gone *storm.NotAliveException
	if !errors.As(err, &gone) || gone.Msg != "declared is not alive" {
		t.Errorf("declared exception came as %v", err)
	}
	_, err = client.Call(t.Context(), "noSuchCall", &storm.NimbusActivateArgs{Name: "x"}, &storm.NimbusActivateResult{})
	if got, want := applicationError(err), "1 Invalid method name: 'noSuchCall'"; got != want {
		t.Errorf("unknown method: got %s, want %s", got, want)
	}
	// A required field that is missing is the decoder's complaint.
	_, err = client.Call(t.Context(), "submitTopologyWithOpts", &wrongArgs{}, &storm.NimbusActivateResult{})
	if got := applicationError(err); !strings.HasPrefix(got, "7 ") {
		t.Errorf("malformed arguments: got %s, want type 7", got)
	}
	if got, err := nimbus.GetTopologyConf(t.Context(), "still there"); err != nil || got != "still there" {
		t.Errorf("after all of them: %q, %v", got, err)
	}
}

// wrongArgs writes what stands for SubmitOptions without its required field.
type wrongArgs struct{}

func (*wrongArgs) Read(context.Context, thrift.TProtocol) error { return nil }

func (*wrongArgs) Write(ctx context.Context, p thrift.TProtocol) error {
	return errors.Join(
		p.WriteFieldBegin(ctx, "options", thrift.STRUCT, 5),
		p.WriteFieldStop(ctx),
		p.WriteFieldStop(ctx),
	)
}
