// SPDX-License-Identifier: Apache-2.0

// TLS between Thrift's Java client and our server, and the other way round,
// with key stores that Java's keytool has made.

package thrift

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// password is that of all key stores here.
const password = "sesame"

// party is one side's TLS: ours for Go, the stores for Java.
type party struct {
	ours             tls.Certificate
	roots            *x509.CertPool // that ours believes: Java's certificate
	keys, trusted    string         // Java's own key, and what it believes: our certificate
	strangers        *x509.CertPool
	trustedStrangers string
}

// keytool runs Java's tool for key stores.
func keytool(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "keytool", append(args, "-storetype", "PKCS12", "-storepass", password)...).CombinedOutput()
	if err != nil {
		t.Fatalf("keytool %v: %v\n%s", args, err, out)
	}
	return out
}

// newParty makes a certificate for each side and lets each believe the other's.
func newParty(t *testing.T) party {
	t.Helper()
	dir := t.TempDir()
	p := party{
		keys: filepath.Join(dir, "keys.p12"), trusted: filepath.Join(dir, "trusted.p12"),
		trustedStrangers: filepath.Join(dir, "strangers.p12"), roots: x509.NewCertPool(), strangers: x509.NewCertPool(),
	}
	p.ours = certificate(t)
	believe := func(store string, der []byte) {
		file := store + ".pem"
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		keytool(t, "-importcert", "-noprompt", "-alias", "peer", "-file", file, "-keystore", store)
	}
	believe(p.trusted, p.ours.Certificate[0])
	stranger := certificate(t)
	believe(p.trustedStrangers, stranger.Certificate[0])
	leaf, err := x509.ParseCertificate(stranger.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	p.strangers.AddCert(leaf)
	keytool(t, "-genkeypair", "-alias", "storm", "-keyalg", "RSA", "-keysize", "2048", "-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1",
		"-keystore", p.keys)
	if !p.roots.AppendCertsFromPEM(keytool(t, "-exportcert", "-rfc", "-alias", "storm", "-keystore", p.keys)) {
		t.Fatal("keytool exports no certificate")
	}
	return p
}

// certificate makes one for 127.0.0.1 that signs itself.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		Subject:      pkix.Name{CommonName: "127.0.0.1"}, // Java takes no certificate without
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestJavaClientAgainstOurServerWithTLS(t *testing.T) {
	t.Parallel()
	p := newParty(t)
	_, port, err := net.SplitHostPort(serve(t, &tls.Config{
		Certificates: []tls.Certificate{p.ours}, ClientCAs: p.roots, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}))
	if err != nil {
		t.Fatal(err)
	}
	out, err := java(t, "NimbusCalls", port, "framed", p.trusted, p.keys, password).Output()
	want := strings.Replace(seen, "short connections: 300", "short connections: 20", 1)
	if diff := cmp.Diff(want, string(out)); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// TestStormClientRefusesStrangers has a server whose certificate the client does not know.
func TestJavaClientRefusesStrangers(t *testing.T) {
	t.Parallel()
	p := newParty(t)
	_, port, err := net.SplitHostPort(serve(t, &tls.Config{Certificates: []tls.Certificate{p.ours}, MinVersion: tls.VersionTLS12}))
	if err != nil {
		t.Fatal(err)
	}
	out, err := java(t, "NimbusCalls", port, "framed", p.trustedStrangers, p.keys, password).Output()
	if !strings.Contains(string(out), "allowed: TTransportException") || strings.Contains(string(out), "allowed: true") {
		t.Errorf("it does not refuse (%v):\n%s", err, out)
	}
}

// TestStormsOwnTLSHasNoFrames is a gap: under TLS Storm's own client and server leave out the frames that ours want, and there is no
// setting that brings them back (with the plugin that has frames, the client connects twice and fails). Whoever serves
// nimbus.thrift.tls.port one day has to take messages without frames.
func TestStormsOwnTLSHasNoFrames(t *testing.T) {
	t.Parallel()
	p := newParty(t)
	_, port, err := net.SplitHostPort(serve(t, &tls.Config{Certificates: []tls.Certificate{p.ours}, MinVersion: tls.VersionTLS12}))
	if err != nil {
		t.Fatal(err)
	}
	out, err := java(t, "NimbusCalls", port, "storm", p.trusted, p.keys, password).Output()
	if strings.Contains(string(out), "allowed: true") {
		t.Errorf("it works now, so this gap is closed (%v):\n%s", err, out)
	}
}

func TestOurClientAgainstJavaServerWithTLS(t *testing.T) {
	t.Parallel()
	p := newParty(t)
	addr := serveStock(t, p.keys, p.trusted, password)
	dial := func(cfg *tls.Config) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		client, err := rpc.Dial(ctx, addr, rpc.ClientConfig{MaxFrame: maxFrame, TLS: cfg})
		if err != nil {
			return "", err
		}
		defer func() { _ = client.Close() }()
		return storm.NewNimbusClient(client).GetTopologyConf(ctx, "größe")
	}
	if got, err := dial(&tls.Config{Certificates: []tls.Certificate{p.ours}, RootCAs: p.roots, MinVersion: tls.VersionTLS12}); err != nil || got != "größe" {
		t.Errorf("both sides known: %q, %v", got, err)
	}
	_, err := dial(&tls.Config{Certificates: []tls.Certificate{p.ours}, RootCAs: p.strangers, MinVersion: tls.VersionTLS12})
	if err == nil || !strings.Contains(err.Error(), "certificate") || !strings.Contains(err.Error(), addr) {
		t.Errorf("a server that is not known: %v", err)
	}
	if _, err := dial(&tls.Config{RootCAs: p.roots, MinVersion: tls.VersionTLS12}); err == nil {
		t.Error("a client that is not known was served")
	}
}
