// SPDX-License-Identifier: Apache-2.0

package kryo

// This file holds the classes that Storm registers, by the numbers that they have on the wire.

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"

	"github.com/gust-stream/gust/tuple"
)

// class is a class as it is on the wire: Kryo's registration id plus two, 0 for null.
type class uint32

const (
	null class = iota
	byName
	integer
	text
	float
	boolean
	octet
	character
	short
	long
	double
	octets
	delegate
	list
	hashMap
	hashSet
	bigInteger
	attempt
	values
	dataPoint
	taskInfo
	consList
	status
	nodeInfo
	firstExtra

	// other is a Go type that becomes one of the above only by conversion.
	other = class(math.MaxUint32)
)

// Names tells which classes stand behind ids that Storm does not register by itself, for the texts of errors.
type Names map[uint32]string

// Registered gives the names of the classes of topology.kryo.register: Storm registers them after its own, sorted.
func Registered(classes []string) Names {
	names := make(Names, len(classes))
	sorted := slices.Compact(slices.Sorted(slices.Values(classes)))
	for i, name := range sorted {
		names[uint32(firstExtra)+uint32(i)] = name //nolint:gosec // as many as a conf names
	}
	return names
}

// known says whether gust reads the class.
func (c class) known() bool { return c >= integer && c <= nodeInfo && c != attempt && c != consList }

// of is the name of a class in an error.
func (n Names) of(c class) string {
	switch c {
	case attempt:
		return "org.apache.storm.transactional.TransactionAttempt"
	case consList:
		return "org.apache.storm.trident.tuple.ConsList"
	default:
		return n[uint32(c)]
	}
}

// UnknownClassError is a value of a class that gust cannot read. ID is the class on the wire, two above the one that Kryo logs.
type UnknownClassError struct {
	ID   uint32
	Name string
}

func (e *UnknownClassError) Error() string {
	switch {
	case e.Name != "":
		return fmt.Sprintf("class id %d on the wire: %s is known to Java only", e.ID, e.Name)
	case class(e.ID) == byName:
		return "class id 1 on the wire: a class by its name, which a Storm that requires registration never sends"
	default:
		return fmt.Sprintf("class id %d on the wire is not registered", e.ID)
	}
}

// TypeError is a value that Storm's wire has nothing for.
type TypeError struct{ Type string }

func (e *TypeError) Error() string { return "a " + e.Type + " cannot be sent to another worker" }

// NodeInfo is Storm's struct of that name, where a metric mentions a worker.
type NodeInfo struct {
	Node  string
	Ports []int64
}

// classOf says what a value is on the wire, other for what convert must look at.
func classOf(v any) class {
	switch v.(type) {
	case nil:
		return null
	case string:
		return text
	case int64, int:
		return long
	case float64:
		return double
	case bool:
		return boolean
	case []byte:
		return octets
	case []any:
		return list
	case map[string]any, map[any]any:
		return hashMap
	case int32:
		return integer
	case float32:
		return float
	case int16:
		return short
	case int8:
		return octet
	case tuple.Char:
		return character
	case tuple.Set:
		return hashSet
	case *big.Int:
		return bigInteger
	case tuple.DataPoint:
		return dataPoint
	case tuple.TaskInfo:
		return taskInfo
	case NodeInfo:
		return nodeInfo
	case Status:
		return status
	default:
		return other
	}
}

// convert makes of another Go value one that classOf knows.
func convert(v any) (any, error) {
	switch v := v.(type) {
	case uint8:
		return int16(v), nil
	case uint16:
		return int32(v), nil
	case uint32:
		return int64(v), nil
	case uint64:
		return unsigned(v), nil
	case uint:
		return unsigned(uint64(v)), nil
	}
	return reflected(v)
}

func unsigned(v uint64) any {
	if v > math.MaxInt64 {
		return new(big.Int).SetUint64(v)
	}
	return int64(v)
}

// reflected takes named types, slices of one type and maps of one type.
func reflected(v any) (any, error) {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Bool:
		return r.Bool(), nil
	case reflect.Int8:
		return int8(r.Int()), nil //nolint:gosec // of that kind
	case reflect.Int16:
		return int16(r.Int()), nil //nolint:gosec // of that kind
	case reflect.Int32:
		return int32(r.Int()), nil //nolint:gosec // of that kind
	case reflect.Int, reflect.Int64:
		return r.Int(), nil
	case reflect.Uint8:
		return int16(r.Uint()), nil //nolint:gosec // of that kind
	case reflect.Uint16:
		return int32(r.Uint()), nil //nolint:gosec // of that kind
	case reflect.Uint32:
		return int64(r.Uint()), nil //nolint:gosec // of that kind
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return unsigned(r.Uint()), nil
	case reflect.Float32:
		return float32(r.Float()), nil
	case reflect.Float64:
		return r.Float(), nil
	case reflect.String:
		return r.String(), nil
	case reflect.Slice, reflect.Array:
		if r.Kind() == reflect.Slice && r.Type().Elem().Kind() == reflect.Uint8 {
			return r.Bytes(), nil
		}
		out := make([]any, r.Len())
		for i := range out {
			out[i] = r.Index(i).Interface()
		}
		return out, nil
	case reflect.Map:
		out := make(map[any]any, r.Len())
		for k, e := range maps.Collect(r.Seq2()) {
			out[k.Interface()] = e.Interface()
		}
		return out, nil
	default:
		return nil, &TypeError{Type: r.Type().String()}
	}
}
