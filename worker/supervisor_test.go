// SPDX-License-Identifier: Apache-2.0

package worker

// Tests of the calls to the supervisor, and to Nimbus in its place.

import (
	"context"
	"errors"
	"net"
	"testing"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// fakeNimbus leads and takes heartbeats.
type fakeNimbus struct {
	storm.Nimbus
	port  int
	beats chan *storm.SupervisorWorkerHeartbeat
}

func (f *fakeNimbus) GetLeader(context.Context) (*storm.NimbusSummary, error) {
	return &storm.NimbusSummary{Host: "127.0.0.1", Port: int32(f.port), IsLeader: true}, nil //nolint:gosec // a port
}

func (f *fakeNimbus) SendSupervisorWorkerHeartbeat(_ context.Context, b *storm.SupervisorWorkerHeartbeat) error {
	f.beats <- b
	return nil
}

// serve runs a Thrift server until the returned function is called.
func serve(t *testing.T, server *rpc.Server) (port int, stop func()) {
	t.Helper()
	addr, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return portOf(addr), stop
}

func TestBeatsGoToNimbusWithoutASupervisor(t *testing.T) {
	t.Parallel()
	nimbus := &fakeNimbus{beats: make(chan *storm.SupervisorWorkerHeartbeat, 8)}
	nimbus.port, _ = serve(t, rpc.New(rpc.Config{Addr: "127.0.0.1:0"}, storm.NewNimbusProcessor(nimbus), zap.NewNop()))
	sup := &fakeSupervisor{}
	start := func(addr string) (int, func()) {
		return serve(t, rpc.New(rpc.Config{Addr: addr}, storm.NewSupervisorProcessor(sup), zap.NewNop()))
	}
	port, stop := start("127.0.0.1:0")
	conf := config.Conf{config.NimbusSeeds: []any{"127.0.0.1"}, config.NimbusThriftPort: int64(nimbus.port)}
	u := newUpstream(conf, "127.0.0.1", port)
	defer u.close()
	beat := func(second int32) {
		t.Helper()
		err := u.beat(t.Context(), &storm.SupervisorWorkerHeartbeat{StormID: "t", TimeSecs: second, Executors: []*storm.ExecutorInfo{}})
		if err != nil {
			t.Fatal(err)
		}
	}
	beat(1)
	beat(2)
	if n := len(sup.heard()); n != 2 || len(nimbus.beats) != 0 {
		t.Fatalf("%d heartbeats reached the supervisor, %d Nimbus", n, len(nimbus.beats))
	}
	stop()
	beat(3)
	if got := <-nimbus.beats; got.TimeSecs != 3 {
		t.Errorf("Nimbus got %v", got)
	}
	start(net.JoinHostPort("127.0.0.1", itoa(port)))
	beat(4)
	if n := len(sup.heard()); n != 3 {
		t.Errorf("%d heartbeats reached the supervisor after its return", n)
	}
}

func TestAssignmentThatNobodyHas(t *testing.T) {
	t.Parallel()
	port, stop := serve(t, rpc.New(rpc.Config{Addr: "127.0.0.1:0"}, storm.NewSupervisorProcessor(&fakeSupervisor{}), zap.NewNop()))
	u := newUpstream(config.Conf{}, "127.0.0.1", port)
	defer u.close()
	if a, err := u.assignment(t.Context(), "t"); a != nil || err != nil {
		t.Errorf("%v, %v", a, err)
	}
	stop()
	a, err := u.assignment(t.Context(), "t")
	if fault, ok := errors.AsType[*net.OpError](err); a != nil || !ok {
		t.Errorf("%v, %v (%v)", a, err, fault)
	}
}
