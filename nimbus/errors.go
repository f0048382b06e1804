// SPDX-License-Identifier: Apache-2.0

// Storm's exceptions with Storm's texts: the one place where what went wrong becomes what a client sees.

package nimbus

import (
	"errors"
	"fmt"

	"github.com/gust-stream/gust/nimbus/blobstore"
	"github.com/gust-stream/gust/thrift/storm"
)

// errNotLeader is what leader-only calls get elsewhere; clients see an internal error, as with Storm.
var errNotLeader = errors.New("not a leader")

// errNotReady is what calls get while the cluster state is not loaded yet.
var errNotReady = errors.New("the cluster state is not loaded yet")

// unknownID answers a call that names a topology by an id which does not exist.
func unknownID(id string) error { return &storm.NotAliveException{Msg: id} }

// unknownName answers a call that names a topology which does not exist.
func unknownName(name string) error { return &storm.NotAliveException{Msg: name + " is not alive"} }

// taken answers a submit under a name that is in use.
func taken(name string) error {
	return &storm.AlreadyAliveException{Msg: name + " is already alive"}
}

// invalid answers a submission or change that Storm refuses; the text names the offender.
func invalid(format string, args ...any) error {
	return &storm.InvalidTopologyException{Msg: fmt.Sprintf(format, args...)}
}

// asInvalid turns a validation error into Storm's exception, with the text of the error and nothing else. One that is (or wraps) the
// exception already comes out as it is.
func asInvalid(err error) error {
	if err == nil {
		return nil
	}
	if invalid, ok := errors.AsType[*storm.InvalidTopologyException](err); ok {
		return invalid
	}
	return &storm.InvalidTopologyException{Msg: err.Error()}
}

// denied answers a caller who may not do what it asks for.
func denied(text string) error { return &storm.AuthorizationException{Msg: text} }

// blobError turns what the blob store says about a key into Storm's exception; anything else stays an internal error.
func blobError(key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, blobstore.ErrNotFound):
		return &storm.KeyNotFoundException{Msg: key}
	case errors.Is(err, blobstore.ErrExists):
		return &storm.KeyAlreadyExistsException{Msg: key}
	default:
		return err
	}
}

func isKeyNotFound(err error) bool {
	_, ok := errors.AsType[*storm.KeyNotFoundException](err)
	return ok
}
