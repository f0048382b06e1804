// SPDX-License-Identifier: Apache-2.0

// The bytes between client and server: answers made before, oneway calls,
// unversioned messages, several at once, TLS, and who calls.

package rpc

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/thrift/storm"
)

// exchange sends bytes and reads one frame.
func exchange(tb testing.TB, c net.Conn, b []byte) []byte {
	tb.Helper()
	if _, err := c.Write(b); err != nil {
		tb.Fatal(err)
	}
	return receive(tb, &frameReader{r: c, limit: DefaultMaxFrame, pool: newBufferPool(DefaultMaxFrame)})
}

func receive(tb testing.TB, r *frameReader) []byte {
	tb.Helper()
	fr, err := r.read(tb.Context(), time.Now().Add(patience))
	if err != nil {
		tb.Fatal(err)
	}
	defer fr.release()
	return bytes.Clone(fr.data)
}

func TestEncodedAnswers(t *testing.T) {
	t.Parallel()
	summary := &storm.ClusterSummary{Topologies: []*storm.TopologySummary{{ID: "t-1-2", Name: "t"}}}
	encoded, err := Encode(t.Context(), &storm.NimbusGetClusterInfoResult{Success: summary})
	if err != nil {
		t.Fatal(err)
	}
	handler := echo()
	handler.clusterInfo = func(context.Context) (*storm.ClusterSummary, error) { return summary, nil }
	var gotArgs []byte
	cfg := Config{Encoded: map[string]EncodedFunc{
		"getClusterInfo": func(context.Context, []byte) ([]byte, bool) { return encoded, true },
		"getTopologyConf": func(_ context.Context, args []byte) ([]byte, bool) {
			gotArgs = bytes.Clone(args)
			return nil, false
		},
		"getNimbusConf": func(context.Context, []byte) ([]byte, bool) { return make([]byte, DefaultMaxFrame), true },
		"activate":      func(context.Context, []byte) ([]byte, bool) { panic("on purpose") },
	}}
	fast, slow := start(t, cfg, handler), start(t, Config{}, handler)

	call := request(t, "getClusterInfo", thrift.CALL, 77, &storm.NimbusGetClusterInfoArgs{})
	want := exchange(t, plain(t, slow.addr), call)
	conn := plain(t, fast.addr)
	for range 2 {
		if diff := cmp.Diff(want, exchange(t, conn, call)); diff != "" {
			t.Errorf("encoded and ordinary answer differ: (-ordinary +encoded)\n%s", diff)
		}
	}

	_, nimbus := dialTest(t, fast.addr, ClientConfig{})
	if got, err := nimbus.GetTopologyConf(t.Context(), "conf"); err != nil || got != "conf" {
		t.Errorf("answer left to the processor: %q, %v", got, err)
	}
	wantArgs, err := Encode(t.Context(), &storm.NimbusGetTopologyConfArgs{ID: "conf"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantArgs, gotArgs); diff != "" {
		t.Errorf("arguments: (-want +got)\n%s", diff)
	}
	_, err = nimbus.GetNimbusConf(t.Context())
	if got := applicationError(err); !strings.HasSuffix(got, "the reply is above the limit of 1048576 bytes") {
		t.Errorf("large encoded answer: %s", got)
	}
	if got, want := applicationError(nimbus.Activate(t.Context(), "x")), "6 Internal error processing activate"; got != want {
		t.Errorf("panic: got %s, want %s", got, want)
	}
}

func TestUnversionedMessageGetsVersionedAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, Config{}, echo())
	args, err := Encode(t.Context(), &storm.NimbusGetTopologyConfArgs{ID: "old"})
	if err != nil {
		t.Fatal(err)
	}
	msg := append(binary.BigEndian.AppendUint32(nil, 15), "getTopologyConf"...)
	msg = append(msg, byte(thrift.CALL), 0, 0, 0, 9)
	got := exchange(t, plain(t, s.addr), framed(append(msg, args...)))
	want := request(t, "getTopologyConf", thrift.REPLY, 9, &storm.NimbusGetTopologyConfResult{Success: new("old")})
	if diff := cmp.Diff(want[prefixLen:], got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSeveralCallsInOneWrite(t *testing.T) {
	t.Parallel()
	s := start(t, Config{}, echo())
	c := plain(t, s.addr)
	var all []byte
	ids := []string{"a", strings.Repeat("b", 300), "c", strings.Repeat("d", 9000), "e"}
	for i, id := range ids {
		all = append(all, request(t, "getTopologyConf", thrift.CALL, int32(i), &storm.NimbusGetTopologyConfArgs{ID: id})...)
	}
	if _, err := c.Write(all); err != nil {
		t.Fatal(err)
	}
	r := &frameReader{r: c, limit: DefaultMaxFrame, pool: newBufferPool(DefaultMaxFrame)}
	for i, id := range ids {
		want := request(t, "getTopologyConf", thrift.REPLY, int32(i), &storm.NimbusGetTopologyConfResult{Success: &id})
		if diff := cmp.Diff(want[prefixLen:], receive(t, r)); diff != "" {
			t.Errorf("answer %d: (-want +got)\n%s", i, diff)
		}
	}
}

// oneway is a method without an answer. Storm has none, so it is made by hand.
type oneway func(ctx context.Context) error

func (f oneway) Process(ctx context.Context, _ int32, in, _ thrift.TProtocol) (bool, thrift.TException) {
	if err := in.Skip(ctx, thrift.STRUCT); err != nil {
		return false, thrift.WrapTException(err)
	}
	return true, thrift.WrapTException(f(ctx))
}

func TestOnewayCallsGetNoAnswer(t *testing.T) {
	t.Parallel()
	noted := make(chan string, 10)
	p := storm.NewNimbusProcessor(echo())
	for name, f := range map[string]oneway{
		"note":  func(context.Context) error { noted <- "note"; return nil },
		"fail":  func(context.Context) error { noted <- "fail"; return errors.New("on purpose") },
		"panic": func(context.Context) error { noted <- "panic"; panic("on purpose") },
	} {
		p.AddToProcessorMap(name, f)
	}
	s := startProcessor(t, Config{}, p)
	defer func() {
		s.stop()
		if err := within(t, s.done); err != nil {
			t.Error(err)
		}
	}()
	c, nimbus := dialTest(t, s.addr, ClientConfig{})
	for _, name := range []string{"note", "fail", "panic", "unknown"} {
		if _, err := c.Call(t.Context(), name, &storm.NimbusGetClusterInfoArgs{}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name != "unknown" {
			if got := within(t, noted); got != name {
				t.Errorf("got %s, want %s", got, name)
			}
		}
	}
	if got, err := nimbus.GetTopologyConf(t.Context(), "next"); err != nil || got != "next" {
		t.Errorf("the call after: %q, %v", got, err)
	}
}

// certificate makes a certificate for a name, signed by parent or by itself.
func certificate(tb testing.TB, name string, parent *tls.Certificate) tls.Certificate {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  parent == nil,
		BasicConstraintsValid: true,
	}
	signer, signKey := template, any(key)
	if parent != nil {
		signer, signKey = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, signKey)
	if err != nil {
		tb.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca := certificate(t, "ca", nil)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Leaf)
	handler := echo()
	handler.topologyConf = func(ctx context.Context, id string) (string, error) {
		if id == "alive" {
			return id, nil
		}
		return Peer(ctx).TLS.VerifiedChains[0][0].Subject.CommonName + id, nil
	}
	encoded, err := Encode(t.Context(), &storm.NimbusGetNimbusConfResult{Success: new("encoded")})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{
		FrameTimeout: time.Second,
		TLS: &tls.Config{
			Certificates: []tls.Certificate{certificate(t, "nimbus", &ca)},
			ClientCAs:    pool,
			ClientAuth:   tls.RequireAndVerifyClientCert,
		},
		Encoded: map[string]EncodedFunc{"getNimbusConf": func(context.Context, []byte) ([]byte, bool) { return encoded, true }},
	}, handler)

	good := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{certificate(t, "supervisor", &ca)}}
	_, nimbus := dialTest(t, s.addr, ClientConfig{TLS: good})
	for _, size := range []int{1, 300, 100_000} {
		id := strings.Repeat("x", size)
		if got, err := nimbus.GetTopologyConf(t.Context(), id); err != nil || got != "supervisor"+id {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
	if got, err := nimbus.GetNimbusConf(t.Context()); err != nil || got != "encoded" {
		t.Errorf("encoded: %q, %v", got, err)
	}

	closedBy(t, plain(t, s.addr)) // says nothing
	c := plain(t, s.addr)
	if _, err := c.Write(request(t, "getTopologyConf", thrift.CALL, 1, &storm.NimbusGetTopologyConfArgs{ID: "x"})); err != nil {
		t.Fatal(err)
	}
	closedBy(t, c) // does not speak TLS
	stranger := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{certificate(t, "stranger", nil)}}
	if sc, err := Dial(t.Context(), s.addr, ClientConfig{TLS: stranger}); err == nil { // TLS 1.3 tells the client later
		if _, err := storm.NewNimbusClient(sc).GetTopologyConf(t.Context(), "x"); err == nil {
			t.Error("a stranger was served")
		}
		_ = sc.Close()
	}
	if _, err := Dial(t.Context(), s.addr, ClientConfig{TLS: &tls.Config{}}); err == nil { //nolint:gosec // versions do not matter here
		t.Error("the client trusts anybody")
	}
	eventually(t, "refusals are logged", func() bool { return s.logs.FilterMessage("TLS handshake refused").Len() >= 4 })
}

func TestPeer(t *testing.T) {
	t.Parallel()
	handler := echo()
	seen := make(chan PeerInfo, 1)
	handler.topologyConf = func(ctx context.Context, id string) (string, error) {
		seen <- Peer(ctx)
		return id, nil
	}
	s := start(t, Config{}, handler)
	c, nimbus := dialTest(t, s.addr, ClientConfig{})
	if _, err := nimbus.GetTopologyConf(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	got := within(t, seen)
	if got.String() != c.nc.LocalAddr().String() || got.Local.String() != s.addr || got.Host() != "127.0.0.1" || got.TLS != nil {
		t.Errorf("peer is %+v", got)
	}
	if none := Peer(t.Context()); none != (PeerInfo{}) || none.String() != "unknown" || none.Host() != "" {
		t.Errorf("peer outside of a call is %+v", none)
	}
}
