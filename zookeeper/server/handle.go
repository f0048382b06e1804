// SPDX-License-Identifier: Apache-2.0

// One request: decoded, done, answered.

package server

import (
	"crypto/sha1" //nolint:gosec // ZooKeeper's digest scheme is defined with SHA-1
	"encoding/base64"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/zookeeper/jute"
	"github.com/gust-stream/gust/zookeeper/tree"
)

// handle does one request of a connection.
func (e *engine) handle(r request) {
	defer e.s.handled(r.frame)
	switch {
	case r.kind == kindGone:
		e.gone(r.c)
	case r.c.isClosed():
	case r.kind == kindHello:
		e.hello(r.c, r.frame)
	default:
		e.frame(r.c, r.frame)
	}
}

// frame answers one request. A frame without a whole header, or one of a connection
// without a session, ends the connection.
func (e *engine) frame(c *conn, frame []byte) {
	d := jute.NewDecoder(frame)
	xid, op := d.Int(), jute.Op(d.Int())
	if d.Err() != nil || c.client == nil {
		c.close()
		return
	}
	ses := e.sessions[c.client.Session]
	if ses == nil || ses.conn != c {
		c.close()
		return
	}
	ses.deadline = e.expiry(ses.timeout)
	if op == jute.OpCloseSession {
		e.closeRequest(c, xid)
		return
	}
	q := query{e: e, c: c, cl: c.client, d: d, size: len(frame), op: op}
	// The body is appended behind room for the header; events go out before both.
	code := q.run()
	e.sendEvents()
	start := e.begin()
	zxid := e.tree.Zxid()
	last := false
	switch {
	case op == jute.OpPing:
		xid = jute.XidPing // whatever the client called it
	case op == jute.OpAuth:
		zxid, last = 0, code != jute.OK
	case code == jute.Unimplemented && q.unknown:
		zxid, last = -1, true // the original gives such connections up
	}
	e.cur.out = jute.AppendReply(e.cur.out, xid, zxid, code)
	if code == jute.OK && q.answer != nil {
		e.cur.out = q.answer(e.cur.out)
	}
	e.end(c, start, 1, last)
}

// closeRequest ends the client's session and, when that is durable, its connection.
func (e *engine) closeRequest(c *conn, xid int32) {
	code := jute.OK
	if !e.closeSession(c.client.Session) {
		code = jute.OperationTimeout
	} else {
		e.tree.Forget(c.client)
	}
	start := e.begin()
	e.cur.out = jute.AppendReply(e.cur.out, xid, e.tree.Zxid(), code)
	e.end(c, start, 1, code == jute.OK)
}

// query is one request on its way. answer appends the body of a good answer.
type query struct {
	e      *engine
	c      *conn
	cl     *tree.Client
	d      *jute.Decoder
	size   int
	op     jute.Op
	answer func([]byte) []byte

	unknown bool // a kind of request that does not exist here
}

// run does the request.
func (q *query) run() jute.Code {
	switch {
	case jute.IsWrite(q.op):
		return q.write()
	case q.op == jute.OpMulti:
		return q.multi()
	}
	switch q.op {
	case jute.OpPing:
		return jute.OK
	case jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2:
		return q.read()
	case jute.OpGetACL, jute.OpSync, jute.OpChildrenNumber, jute.OpGetEphemerals:
		return q.path()
	case jute.OpMultiRead:
		return q.multiRead()
	case jute.OpSetWatches, jute.OpSetWatches2, jute.OpAddWatch, jute.OpCheckWatches, jute.OpRemoveWatches:
		return q.watches()
	case jute.OpAuth:
		return q.auth()
	case jute.OpWhoAmI:
		q.answer = q.whoAmI
		return jute.OK
	case jute.OpReconfig:
		return jute.ReconfigDisabled
	default:
		q.unknown = true
		return jute.Unimplemented
	}
}

func (q *query) write() jute.Code {
	w := q.d.Write(q.op)
	if q.d.Err() != nil {
		return q.malformed(q.d.Err())
	}
	e := q.e
	grown := q.authSize(w)
	if grown > maxGrowth {
		return jute.InvalidACL
	}
	if q.op != jute.OpCheck && !e.reserve(q.size+grown) {
		return jute.OperationTimeout
	}
	before := len(e.cur.log)
	var r tree.Result
	r, e.cur.log = e.tree.Write(q.cl, e.s.wall().UnixMilli(), w, e.cur.log)
	e.changed(before)
	q.answer = func(b []byte) []byte { return appendResult(b, r) }
	return r.Code
}

// maxGrowth bounds how much longer than its request a change may become in the log, in bytes. Without it a request of
// 1 MB could make a change that is larger than a reader of the log believes (maxFramePayload).
const maxGrowth = 16 << 20

// authSize is how much longer writes may get when auth in their ACLs is replaced by identities.
func (q *query) authSize(ws ...jute.Write) int {
	all := 0
	for _, id := range q.cl.Auth {
		all += len(id.Scheme) + len(id.ID) + 12
	}
	n := 0
	for _, w := range ws {
		for _, a := range w.ACL {
			if a.ID.Scheme == tree.SchemeAuth {
				n++
			}
		}
	}
	return n * all
}

func (q *query) multi() jute.Code {
	ws, err := q.d.Multi()
	if err != nil {
		return q.malformed(err)
	}
	e := q.e
	grown := q.authSize(ws...)
	if grown > maxGrowth {
		return jute.InvalidACL
	}
	if !e.reserve(q.size + grown) {
		return jute.OperationTimeout
	}
	before := len(e.cur.log)
	var results []tree.Result
	results, e.cur.log, _ = e.tree.Multi(q.cl, e.s.wall().UnixMilli(), ws, e.cur.log)
	e.changed(before)
	q.answer = func(b []byte) []byte { return appendMulti(b, results) }
	return jute.OK // which part failed stands in the body
}

// appendResult appends the body that a write of its kind is answered with.
func appendResult(b []byte, r tree.Result) []byte {
	switch r.Op {
	case jute.OpCreate:
		return jute.AppendString(b, r.Path)
	case jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return jute.AppendStat(jute.AppendString(b, r.Path), r.Stat)
	case jute.OpSetData, jute.OpSetACL:
		return jute.AppendStat(b, r.Stat)
	case jute.OpError:
		return jute.AppendInt(b, int32(r.Code))
	default: // OpDelete, OpCheck: no body
		return b
	}
}

func appendMulti(b []byte, results []tree.Result) []byte {
	for _, r := range results {
		op := r.Op
		if op == jute.OpCreateContainer || op == jute.OpCreateTTL {
			op = jute.OpCreate2
		}
		b = jute.AppendMultiHeader(b, op, false, r.Code)
		b = appendResult(b, r)
	}
	return jute.AppendMultiHeader(b, jute.OpError, true, -1)
}

func (q *query) read() jute.Code {
	path, watch := q.d.String(), q.d.Bool()
	if q.d.Err() != nil {
		return q.malformed(q.d.Err())
	}
	t := q.e.tree
	switch q.op {
	case jute.OpExists:
		st, code := t.Exists(q.cl, path, watch)
		q.answer = func(b []byte) []byte { return jute.AppendStat(b, st) }
		return code
	case jute.OpGetData:
		data, st, code := t.GetData(q.cl, path, watch)
		q.answer = func(b []byte) []byte { return jute.AppendStat(jute.AppendBuffer(b, data), st) }
		return code
	default: // OpGetChildren, OpGetChildren2
		names, st, code := t.GetChildren(q.cl, path, watch)
		q.answer = func(b []byte) []byte {
			b = jute.AppendStrings(b, names)
			if q.op == jute.OpGetChildren2 {
				b = jute.AppendStat(b, st)
			}
			return b
		}
		return code
	}
}

func (q *query) path() jute.Code {
	path := q.d.String()
	if q.d.Err() != nil {
		return q.malformed(q.d.Err())
	}
	t := q.e.tree
	switch q.op {
	case jute.OpGetACL:
		acl, st, code := t.GetACL(q.cl, path)
		q.answer = func(b []byte) []byte { return jute.AppendStat(jute.AppendACLs(b, acl), st) }
		return code
	case jute.OpChildrenNumber:
		n, code := t.ChildrenNumber(q.cl, path)
		q.answer = func(b []byte) []byte { return jute.AppendInt(b, n) }
		return code
	case jute.OpGetEphemerals:
		paths := t.Ephemerals(q.cl, path)
		q.answer = func(b []byte) []byte { return jute.AppendStrings(b, paths) }
		return jute.OK
	default: // OpSync: one server is always in step with itself
		q.answer = func(b []byte) []byte { return jute.AppendString(b, path) }
		return jute.OK
	}
}

func (q *query) multiRead() jute.Code {
	rs, err := q.d.MultiRead()
	if err != nil {
		return q.malformed(err)
	}
	var body []byte
	for _, r := range rs {
		if len(body) > maxBatchOut {
			return jute.ThrottledOp
		}
		part := query{e: q.e, cl: q.cl, op: r.Op}
		var code jute.Code
		if r.Op == jute.OpGetData {
			data, st, c := q.e.tree.GetData(q.cl, r.Path, r.Watch)
			code, part.answer = c, func(b []byte) []byte { return jute.AppendStat(jute.AppendBuffer(b, data), st) }
		} else {
			names, _, c := q.e.tree.GetChildren(q.cl, r.Path, r.Watch)
			code, part.answer = c, func(b []byte) []byte { return jute.AppendStrings(b, names) }
		}
		if code != jute.OK {
			body = jute.AppendMultiHeader(body, jute.OpError, false, code)
			body = jute.AppendInt(body, int32(code))
			continue
		}
		body = jute.AppendMultiHeader(body, r.Op, false, jute.OK)
		body = part.answer(body)
	}
	body = jute.AppendMultiHeader(body, jute.OpError, true, -1)
	q.answer = func(b []byte) []byte { return append(b, body...) }
	return jute.OK
}

func (q *query) watches() jute.Code {
	t := q.e.tree
	if q.op == jute.OpSetWatches || q.op == jute.OpSetWatches2 {
		w := q.d.Watches(q.op == jute.OpSetWatches2)
		if q.d.Err() != nil {
			return q.malformed(q.d.Err())
		}
		return t.SetWatches(q.cl, w)
	}
	path, typ := q.d.String(), q.d.Int()
	if q.d.Err() != nil {
		return q.malformed(q.d.Err())
	}
	switch q.op {
	case jute.OpAddWatch:
		q.answer = func(b []byte) []byte { return jute.AppendInt(b, 0) }
		return t.AddWatch(q.cl, path, typ)
	case jute.OpCheckWatches:
		return t.CheckWatches(q.cl, path, jute.WatchType(typ))
	default: // OpRemoveWatches
		return t.RemoveWatches(q.cl, path, jute.WatchType(typ))
	}
}

// maxIdentities bounds what one connection may prove to be.
const maxIdentities = 64

// auth adds an identity to the connection. A scheme that is not known, or data that
// proves nothing, ends the connection.
func (q *query) auth() jute.Code {
	a := q.d.Auth()
	if q.d.Err() != nil {
		return q.malformed(q.d.Err())
	}
	switch {
	case a.Scheme == "ip":
		return jute.OK // known from the start
	case a.Scheme != "digest" || len(q.cl.Auth) >= maxIdentities:
		return jute.AuthFailed
	}
	id := digest(a.Data)
	if id == q.e.s.cfg.SuperDigest {
		q.addAuth(jute.ID{Scheme: tree.SchemeSuper})
	}
	q.addAuth(jute.ID{Scheme: "digest", ID: id})
	return jute.OK
}

func (q *query) addAuth(id jute.ID) {
	if !slices.Contains(q.cl.Auth, id) {
		q.cl.Auth = append(q.cl.Auth, id)
	}
}

// digest turns user:password into user:hash.
func digest(userPassword []byte) string {
	user, _, _ := strings.Cut(string(userPassword), ":")
	sum := sha1.Sum(userPassword) //nolint:gosec // see the import
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}

// whoAmI lists the connection's identities without their secrets.
func (q *query) whoAmI(b []byte) []byte {
	b = jute.AppendInt(b, int32(len(q.cl.Auth)))
	for _, id := range q.cl.Auth {
		user := id.ID
		if id.Scheme == "digest" {
			user, _, _ = strings.Cut(user, ":")
		}
		b = jute.AppendString(jute.AppendString(b, id.Scheme), user)
	}
	return b
}

// malformed reports a request that could be framed but not read.
func (q *query) malformed(err error) jute.Code {
	q.e.logs.Debug("malformed request", zap.Stringer("peer", q.c.nc.RemoteAddr()), zap.Int32("op", int32(q.op)), zap.Error(err))
	return jute.MarshallingError
}
