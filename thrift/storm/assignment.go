// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/thrift/lib/go/thrift"
)

// ExecutorID names an executor by its first and its last task. On the wire it is a list of two i64.
type ExecutorID [2]int64

// Assignment says where the executors of one topology run: Storm's struct of that name, written by hand because two of
// its maps have list keys. A nil map is not written; a map that is empty but not nil is.
type Assignment struct {
	// MasterCodeDir is the local directory of the Nimbus that made the assignment.
	MasterCodeDir string
	// NodeHost maps the id of each node in use to its host name.
	NodeHost map[string]string
	// ExecutorNodePort maps each executor to its node and port.
	ExecutorNodePort map[ExecutorID]*NodeInfo
	// ExecutorStartTimeSecs maps each executor to the epoch second of its placement.
	ExecutorStartTimeSecs map[ExecutorID]int64
	// WorkerResources maps each slot to what its executors asked for together.
	WorkerResources map[*NodeInfo]*WorkerResources
	// TotalSharedOffHeap maps a node id to shared memory in MB; Storm's Nimbus leaves it empty.
	TotalSharedOffHeap map[string]float64
	// Owner is the user who submitted the topology.
	Owner *string
}

// NewAssignment returns an assignment as Storm's constructor makes it: every map there, and empty.
func NewAssignment() *Assignment {
	return &Assignment{
		NodeHost:              map[string]string{},
		ExecutorNodePort:      map[ExecutorID]*NodeInfo{},
		ExecutorStartTimeSecs: map[ExecutorID]int64{},
		WorkerResources:       map[*NodeInfo]*WorkerResources{},
		TotalSharedOffHeap:    map[string]float64{},
	}
}

// GetOwner returns the owner, or "" when there is none.
func (p *Assignment) GetOwner() string {
	if p == nil || p.Owner == nil {
		return ""
	}
	return *p.Owner
}

// String shows the assignment for logs.
func (p *Assignment) String() string {
	if p == nil {
		return "<nil>"
	}
	return fmt.Sprintf("Assignment(%+v)", *p)
}

// Read fills the assignment from the protocol; an executor key that is not two numbers is an error.
func (p *Assignment) Read(ctx context.Context, in thrift.TProtocol) error {
	if _, err := in.ReadStructBegin(ctx); err != nil {
		return thrift.PrependError(fmt.Sprintf("%T read error: ", p), err)
	}
	seenMaster := false
	for {
		_, kind, id, err := in.ReadFieldBegin(ctx)
		if err != nil {
			return thrift.PrependError(fmt.Sprintf("%T field %d read error: ", p, id), err)
		}
		if kind == thrift.STOP {
			break
		}
		known, err := p.readField(ctx, in, id, kind)
		if err != nil {
			return thrift.PrependError(fmt.Sprintf("%T field %d read error: ", p, id), err)
		}
		if !known {
			if err := in.Skip(ctx, kind); err != nil {
				return err
			}
		}
		seenMaster = seenMaster || (known && id == 1)
		if err := in.ReadFieldEnd(ctx); err != nil {
			return err
		}
	}
	if err := in.ReadStructEnd(ctx); err != nil {
		return thrift.PrependError(fmt.Sprintf("%T read struct end error: ", p), err)
	}
	if !seenMaster {
		return thrift.NewTProtocolExceptionWithType(thrift.INVALID_DATA, errors.New("required field MasterCodeDir is not set"))
	}
	return nil
}

// readField reads one field when its id and type are known, and says whether it did.
func (p *Assignment) readField(ctx context.Context, in thrift.TProtocol, id int16, kind thrift.TType) (known bool, err error) {
	switch {
	case id == 1 && kind == thrift.STRING:
		p.MasterCodeDir, err = in.ReadString(ctx)
	case id == 2 && kind == thrift.MAP:
		p.NodeHost, err = readMap(ctx, in, readString, readString)
	case id == 3 && kind == thrift.MAP:
		p.ExecutorNodePort, err = readMap(ctx, in, readExecutorID, readNodeInfo)
	case id == 4 && kind == thrift.MAP:
		p.ExecutorStartTimeSecs, err = readMap(ctx, in, readExecutorID, readI64)
	case id == 5 && kind == thrift.MAP:
		p.WorkerResources, err = readMap(ctx, in, readNodeInfo, readWorkerResources)
	case id == 6 && kind == thrift.MAP:
		p.TotalSharedOffHeap, err = readMap(ctx, in, readString, readDouble)
	case id == 7 && kind == thrift.STRING:
		var owner string
		owner, err = in.ReadString(ctx)
		p.Owner = &owner
	default:
		return false, nil
	}
	return true, err
}

// Write sends the assignment over the protocol.
func (p *Assignment) Write(ctx context.Context, out thrift.TProtocol) error {
	if err := out.WriteStructBegin(ctx, "Assignment"); err != nil {
		return thrift.PrependError(fmt.Sprintf("%T write struct begin error: ", p), err)
	}
	if p != nil {
		if err := p.writeFields(ctx, out); err != nil {
			return thrift.PrependError(fmt.Sprintf("%T write error: ", p), err)
		}
	}
	if err := out.WriteFieldStop(ctx); err != nil {
		return err
	}
	return out.WriteStructEnd(ctx)
}

func (p *Assignment) writeFields(ctx context.Context, out thrift.TProtocol) error {
	err := writeField(ctx, out, "master_code_dir", thrift.STRING, 1, func() error { return out.WriteString(ctx, p.MasterCodeDir) })
	if err == nil && p.NodeHost != nil {
		err = writeMap(ctx, out, "node_host", 2, thrift.STRING, thrift.STRING, p.NodeHost, out.WriteString, out.WriteString)
	}
	if err == nil && p.ExecutorNodePort != nil {
		err = writeMap(ctx, out, "executor_node_port", 3, thrift.LIST, thrift.STRUCT, p.ExecutorNodePort, executorIDWriter(out), structWriter[*NodeInfo](out))
	}
	if err == nil && p.ExecutorStartTimeSecs != nil {
		err = writeMap(ctx, out, "executor_start_time_secs", 4, thrift.LIST, thrift.I64, p.ExecutorStartTimeSecs, executorIDWriter(out), out.WriteI64)
	}
	if err == nil && p.WorkerResources != nil {
		err = writeMap(ctx, out, "worker_resources", 5, thrift.STRUCT, thrift.STRUCT, p.WorkerResources, structWriter[*NodeInfo](out), structWriter[*WorkerResources](out))
	}
	if err == nil && p.TotalSharedOffHeap != nil {
		err = writeMap(ctx, out, "total_shared_off_heap", 6, thrift.STRING, thrift.DOUBLE, p.TotalSharedOffHeap, out.WriteString, out.WriteDouble)
	}
	if err == nil && p.Owner != nil {
		err = writeField(ctx, out, "owner", thrift.STRING, 7, func() error { return out.WriteString(ctx, *p.Owner) })
	}
	return err
}

// Equals compares two assignments by value; keys that are structs are compared by content too.
func (p *Assignment) Equals(other *Assignment) bool {
	if p == nil || other == nil {
		return p == other
	}
	return p.MasterCodeDir == other.MasterCodeDir && p.GetOwner() == other.GetOwner() &&
		(p.Owner == nil) == (other.Owner == nil) &&
		maps.Equal(p.NodeHost, other.NodeHost) &&
		maps.Equal(p.ExecutorStartTimeSecs, other.ExecutorStartTimeSecs) &&
		maps.Equal(p.TotalSharedOffHeap, other.TotalSharedOffHeap) &&
		maps.EqualFunc(p.ExecutorNodePort, other.ExecutorNodePort, (*NodeInfo).same) &&
		equalResources(p.WorkerResources, other.WorkerResources)
}

// same compares two slots by content; the order of ports means nothing, since they are a set.
func (p *NodeInfo) same(other *NodeInfo) bool {
	if p == nil || other == nil {
		return p == other
	}
	return p.Node == other.Node && slices.Equal(slices.Sorted(slices.Values(p.Port)), slices.Sorted(slices.Values(other.Port)))
}

func equalResources(a, b map[*NodeInfo]*WorkerResources) bool {
	if len(a) != len(b) {
		return false
	}
	key := func(n *NodeInfo) string { return fmt.Sprint(n.Node, slices.Sorted(slices.Values(n.Port))) }
	byKey := make(map[string]*WorkerResources, len(b))
	for slot, resources := range b {
		byKey[key(slot)] = resources
	}
	for slot, resources := range a {
		other, ok := byKey[key(slot)]
		if !ok || !resources.Equals(other) {
			return false
		}
	}
	return true
}

func writeField(ctx context.Context, out thrift.TProtocol, name string, kind thrift.TType, id int16, body func() error) error {
	if err := out.WriteFieldBegin(ctx, name, kind, id); err != nil {
		return err
	}
	if err := body(); err != nil {
		return err
	}
	return out.WriteFieldEnd(ctx)
}

func writeMap[K comparable, V any](ctx context.Context, out thrift.TProtocol, name string, id int16, keyKind, valueKind thrift.TType,
	m map[K]V, key func(context.Context, K) error, value func(context.Context, V) error,
) error {
	return writeField(ctx, out, name, thrift.MAP, id, func() error {
		if err := out.WriteMapBegin(ctx, keyKind, valueKind, len(m)); err != nil {
			return err
		}
		for k, v := range m {
			if err := key(ctx, k); err != nil {
				return err
			}
			if err := value(ctx, v); err != nil {
				return err
			}
		}
		return out.WriteMapEnd(ctx)
	})
}

func executorIDWriter(out thrift.TProtocol) func(context.Context, ExecutorID) error {
	return func(ctx context.Context, id ExecutorID) error {
		if err := out.WriteListBegin(ctx, thrift.I64, len(id)); err != nil {
			return err
		}
		for _, task := range id {
			if err := out.WriteI64(ctx, task); err != nil {
				return err
			}
		}
		return out.WriteListEnd(ctx)
	}
}

func structWriter[T thrift.TStruct](out thrift.TProtocol) func(context.Context, T) error {
	return func(ctx context.Context, s T) error { return s.Write(ctx, out) }
}

// readMap reads a map without trusting its announced size: memory grows with the entries that arrive.
func readMap[K comparable, V any](ctx context.Context, in thrift.TProtocol, key func(context.Context, thrift.TProtocol) (K, error),
	value func(context.Context, thrift.TProtocol) (V, error),
) (map[K]V, error) {
	_, _, size, err := in.ReadMapBegin(ctx)
	if err != nil {
		return nil, err
	}
	m := make(map[K]V)
	for range size {
		k, err := key(ctx, in)
		if err != nil {
			return nil, err
		}
		if m[k], err = value(ctx, in); err != nil {
			return nil, err
		}
	}
	return m, in.ReadMapEnd(ctx)
}

func readString(ctx context.Context, in thrift.TProtocol) (string, error) { return in.ReadString(ctx) }

func readI64(ctx context.Context, in thrift.TProtocol) (int64, error) { return in.ReadI64(ctx) }

func readDouble(ctx context.Context, in thrift.TProtocol) (float64, error) { return in.ReadDouble(ctx) }

func readExecutorID(ctx context.Context, in thrift.TProtocol) (ExecutorID, error) {
	var id ExecutorID
	_, size, err := in.ReadListBegin(ctx)
	if err != nil {
		return id, err
	}
	if size != len(id) {
		return id, thrift.NewTProtocolExceptionWithType(thrift.INVALID_DATA, fmt.Errorf("an executor id has %d numbers, not two", size))
	}
	for i := range id {
		if id[i], err = in.ReadI64(ctx); err != nil {
			return id, err
		}
	}
	return id, in.ReadListEnd(ctx)
}

func readNodeInfo(ctx context.Context, in thrift.TProtocol) (*NodeInfo, error) {
	node := NewNodeInfo()
	return node, node.Read(ctx, in)
}

func readWorkerResources(ctx context.Context, in thrift.TProtocol) (*WorkerResources, error) {
	resources := NewWorkerResources()
	return resources, resources.Read(ctx, in)
}
