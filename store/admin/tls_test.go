package admin

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/store/embedded"
)

// selfSigned is a certificate that is its own authority, for a server and its clients, and its key.
func selfSigned(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "etcd"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return file("cert", "CERTIFICATE", cert), file("key", "EC PRIVATE KEY", der)
}

// TestTLS reaches an etcd by https, with the right certificates and without.
func TestTLS(t *testing.T) {
	cert, key := selfSigned(t)
	server, err := embedded.Start(context.Background(), embedded.Config{
		Dir: filepath.Join(t.TempDir(), "etcd"), Ephemeral: true, Logger: slog.New(slog.DiscardHandler),
		Listen: []string{"https://127.0.0.1:0"}, TLS: embedded.TLSFiles{CertFile: cert, KeyFile: key, TrustedCAFile: cert},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	urls := []string{"https://" + server.Addrs()[0].String()}
	live, err := Connect(context.Background(), Endpoint{URLs: urls, CAFile: cert, CertFile: cert, KeyFile: key})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if head, err := live.Head(context.Background()); err != nil || head.Revision != 1 {
		t.Errorf("%+v, %v", head, err)
	}
	other, otherKey := selfSigned(t)
	for name, e := range map[string]Endpoint{
		"no certificate":            {URLs: urls, CAFile: cert},
		"another's certificate":     {URLs: urls, CAFile: cert, CertFile: other, KeyFile: otherKey},
		"an authority that is not":  {URLs: urls, CAFile: other, CertFile: cert, KeyFile: key},
		"a key that does not match": {URLs: urls, CAFile: cert, CertFile: cert, KeyFile: otherKey},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if live, err := Connect(ctx, e); err == nil {
			live.Close()
			t.Errorf("%s: it is reached", name)
		}
		cancel()
	}
}
