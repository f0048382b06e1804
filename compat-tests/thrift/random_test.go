// SPDX-License-Identifier: Apache-2.0

// Random instances of Go's structs, by reflection.

package thrift

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"

	"github.com/apache/thrift/lib/go/thrift"
)

// deepest is how far optional structs nest.
const deepest = 5

// filler fills values at random; share is the part of optional fields that are set.
type filler struct {
	*rand.Rand
	share float64
}

// newFiller makes what Structs.java makes of seeds: 0 sets every field, 1 only
// those that must be there.
func newFiller(name string, seed uint64) *filler {
	f := &filler{Rand: rand.New(rand.NewPCG(seed, uint64(len(name)))), share: 0.6}
	switch seed {
	case 0:
		f.share = 1
	case 1:
		f.share = 0
	}
	return f
}

// fill fills v, which is settable.
func (f *filler) fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int64:
		if s, ok := reflect.TypeAssert[fmt.Stringer](v); ok {
			v.SetInt(f.constant(s))
			return
		}
		v.SetInt(int64(f.Uint64()))
	case reflect.Int8, reflect.Int16, reflect.Int32:
		v.SetInt(int64(int8(f.Uint64())))
		if v.Kind() == reflect.Int32 {
			v.SetInt(int64(int32(f.Uint64())))
		}
	case reflect.Float64:
		v.SetFloat(f.NormFloat64() * 1e9)
	case reflect.String:
		v.SetString([]string{"", "a", "Größe", "流", "🦫 x", "tab\tnul\x00", "longer text of no meaning"}[f.IntN(7)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth)
	case reflect.Slice:
		f.slice(v, depth)
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), depth)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.length(depth) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, depth+1)
			f.fill(value, depth+1)
			if !hasEqualKey(v, key) {
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Struct:
		f.structure(v, depth)
	default:
		panic("no values for " + v.Type().String())
	}
}

// slice fills a list, a set, or bytes. A set may not hold a value twice, and
// nothing tells it from a list, so no list does either.
func (f *filler) slice(v reflect.Value, depth int) {
	v.Set(reflect.MakeSlice(v.Type(), 0, 4))
	for range f.length(depth) {
		e := reflect.New(v.Type().Elem()).Elem()
		if v.Type().Elem().Kind() == reflect.Uint8 {
			e.SetUint(uint64(f.IntN(256)))
		} else {
			f.fill(e, depth+1)
		}
		twice := false
		for i := range v.Len() {
			twice = twice || reflect.DeepEqual(v.Index(i).Interface(), e.Interface())
		}
		if !twice {
			v.Set(reflect.Append(v, e))
		}
	}
}

func hasEqualKey(m, key reflect.Value) bool {
	for _, k := range m.MapKeys() {
		if reflect.DeepEqual(k.Interface(), key.Interface()) {
			return true
		}
	}
	return false
}

func (f *filler) length(depth int) int {
	switch {
	case depth > deepest:
		return 0
	case f.share == 1 && depth < 3:
		return 1 + f.IntN(2)
	}
	return f.IntN(4)
}

func (f *filler) structure(v reflect.Value, depth int) {
	if isUnion(v) {
		n := f.IntN(v.NumField())
		f.fill(v.Field(n), depth+1)
		return
	}
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("thrift")
		// A result's fields are optional, and Assignment has no tags.
		free := strings.HasSuffix(tag, ",optional") || strings.HasSuffix(v.Type().Name(), "Result") && !strings.HasSuffix(tag, ",required")
		if free && (depth > deepest || f.Float64() >= f.share) {
			continue
		}
		f.fill(v.Field(i), depth+1)
	}
}

// isUnion tells whether exactly one field may be set.
func isUnion(v reflect.Value) bool {
	_, ok := v.Addr().Type().MethodByName("CountSetFields" + v.Type().Name())
	return ok
}

// constant returns one of an enum's numbers: those that have a name.
func (f *filler) constant(s fmt.Stringer) int64 {
	v := reflect.New(reflect.TypeOf(s)).Elem()
	var named []int64
	for i := range int64(64) {
		v.SetInt(i)
		if text := fmt.Sprint(v.Interface()); text != "<UNSET>" {
			named = append(named, i)
		}
	}
	return named[f.IntN(len(named))]
}

// random makes an instance of the Go type for a class.
func random(name string, fresh func() thrift.TStruct, seed uint64) thrift.TStruct {
	s := fresh()
	newFiller(name, seed).fill(reflect.ValueOf(s).Elem(), 0)
	return s
}
