package factory_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/embedded"
)

// TestTLS reaches an etcd that asks for a certificate.
func TestTLS(t *testing.T) {
	files := certificate(t)
	server, err := embedded.Start(t.Context(), embedded.Config{
		Dir: t.TempDir(), Ephemeral: true, Listen: []string{"https://127.0.0.1:0"}, TLS: files,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	s, _ := create(t, config(t, factory.TransportConfig{
		ServerList: []string{"https://" + server.Addrs()[0].String()},
		CertFile:   files.CertFile, KeyFile: files.KeyFile, TrustedCAFile: files.TrustedCAFile,
	}))
	if err := s.Create(t.Context(), "/configmaps/default/a", configMap("a"), nil, 0); err != nil {
		t.Fatal(err)
	}
	out := &corev1.ConfigMap{}
	if err := s.Get(t.Context(), "/configmaps/default/a", store.GetOptions{}, out); err != nil || out.Name != "a" {
		t.Errorf("got %v, %v", out, err)
	}
}

// certificate is its own CA, and serves and calls.
func certificate(t *testing.T) embedded.TLSFiles {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyBytes, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, data []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	certFile := write("cert.pem", "CERTIFICATE", cert)
	return embedded.TLSFiles{CertFile: certFile, KeyFile: write("key.pem", "PRIVATE KEY", keyBytes), TrustedCAFile: certFile}
}
