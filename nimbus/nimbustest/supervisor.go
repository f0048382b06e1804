// SPDX-License-Identifier: Apache-2.0

// A supervisor that takes assignments and beats, but runs nothing.

package nimbustest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// Supervisor is a supervisor without workers.
type Supervisor struct {
	// ID is its id.
	ID    string
	Ports []int64
	// MaxFrame is how large a frame it says that it takes, as gust's supervisor does; 0 says nothing, as Storm's.
	MaxFrame int

	site *Site
	stop func()

	mu sync.Mutex
	// pushed is the newest set that Nimbus sent; guarded by mu.
	pushed map[string]*storm.Assignment
	// mute makes its workers silent; guarded by mu.
	mute bool
}

// Supervisor registers a supervisor that beats every 100 ms for itself and for all executors it was told to run.
func (s *Site) Supervisor(tb testing.TB, id string, ports ...int64) *Supervisor {
	tb.Helper()
	v := &Supervisor{ID: id, Ports: ports, site: s}
	v.start(tb)
	return v
}

func (v *Supervisor) start(tb testing.TB) {
	tb.Helper()
	server := rpc.New(rpc.Config{Addr: Host + ":0", MaxRequest: v.MaxFrame}, storm.NewSupervisorProcessor(v), v.site.Log.Named(v.ID))
	addr, err := server.Listen()
	if err != nil {
		tb.Fatalf("supervisor %s: %v", v.ID, err)
	}
	state, err := cluster.Connect(tb.Context(), cluster.Config{
		Servers: []string{v.site.zookeeper}, Root: v.site.Conf.String(config.StormZookeeperRoot, ""),
	}, v.site.Log)
	if err != nil {
		tb.Fatalf("supervisor %s: %v", v.ID, err)
	}
	port, uptime, version := int32(portOf(tb, addr)), int64(1), config.TableVersion
	info := &storm.SupervisorInfo{
		TimeSecs: time.Now().Unix(), Hostname: Host, AssignmentID: &v.ID, Meta: v.Ports, UptimeSecs: &uptime, Version: &version,
		ServerPort: &port, ResourcesMap: map[string]float64{"memory.mb": 4096, "cpu.pcore.percent": 400},
	}
	if v.MaxFrame > 0 {
		cluster.SetMaxFrame(info, v.MaxFrame)
	}
	if err := state.SetSupervisor(tb.Context(), v.ID, info); err != nil {
		tb.Fatalf("supervisor %s: %v", v.ID, err)
	}
	endServer := Background(tb, "supervisor "+v.ID, server.Run)
	endBeats := Background(tb, "beats of "+v.ID, v.beat)
	var once sync.Once
	v.stop = func() {
		once.Do(func() {
			endBeats()
			endServer()
			state.Close()
		})
	}
	tb.Cleanup(v.stop)
}

// Stop ends the supervisor; its entry in the cluster state vanishes at once.
func (v *Supervisor) Stop() { v.stop() }

// Restart starts it again under its id, with what it was told before.
func (v *Supervisor) Restart(tb testing.TB) {
	tb.Helper()
	v.stop()
	v.start(tb)
}

// Mute makes its workers silent, or lets them beat again, while it goes on itself.
func (v *Supervisor) Mute(on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mute = on
}

// Pushed returns the assignments that Nimbus last sent; nil if it sent none yet.
func (v *Supervisor) Pushed() map[string]*storm.Assignment {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.pushed
}

// Executors returns how many executors of a topology it was told to run.
func (v *Supervisor) Executors(id string) int {
	n := 0
	if a := v.Pushed()[id]; a != nil {
		for _, info := range a.ExecutorNodePort {
			if info.Node == v.ID {
				n++
			}
		}
	}
	return n
}

// SendSupervisorAssignments is the call by which Nimbus sends assignments.
func (v *Supervisor) SendSupervisorAssignments(_ context.Context, set *storm.SupervisorAssignments) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pushed = set.StormAssignment
	if v.pushed == nil {
		v.pushed = map[string]*storm.Assignment{}
	}
	return nil
}

// GetLocalAssignmentForStorm is a worker's call; there are no workers.
func (v *Supervisor) GetLocalAssignmentForStorm(_ context.Context, id string) (*storm.Assignment, error) {
	return nil, &storm.NotAliveException{Msg: id}
}

// SendSupervisorWorkerHeartbeat is a worker's call; there are no workers.
func (v *Supervisor) SendSupervisorWorkerHeartbeat(context.Context, *storm.SupervisorWorkerHeartbeat) error {
	return errors.New("no worker runs here")
}

// beat sends heartbeats until ctx ends. Their time stamp counts up faster than a clock, so that each one differs.
func (v *Supervisor) beat(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for stamp := int32(time.Now().Unix()); ; stamp++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		client, err := rpc.Dial(ctx, v.site.Addr(), rpc.ClientConfig{ConnectTimeout: time.Second, CallTimeout: time.Second})
		if err != nil {
			continue // Nimbus may be down just now
		}
		_ = storm.NewNimbusClient(client).SendSupervisorWorkerHeartbeats(ctx, v.beats(stamp)) // the next one follows
		_ = client.Close()
	}
}

func (v *Supervisor) beats(stamp int32) *storm.SupervisorWorkerHeartbeats {
	out := &storm.SupervisorWorkerHeartbeats{SupervisorID: v.ID, WorkerHeartbeats: []*storm.SupervisorWorkerHeartbeat{}}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mute {
		return out
	}
	for id, a := range v.pushed {
		hb := &storm.SupervisorWorkerHeartbeat{StormID: id, TimeSecs: stamp, Executors: []*storm.ExecutorInfo{}}
		for e, info := range a.ExecutorNodePort {
			if strings.HasPrefix(info.Node, v.ID) {
				hb.Executors = append(hb.Executors, &storm.ExecutorInfo{TaskStart: int32(e[0]), TaskEnd: int32(e[1])})
			}
		}
		out.WorkerHeartbeats = append(out.WorkerHeartbeats, hb)
	}
	return out
}
