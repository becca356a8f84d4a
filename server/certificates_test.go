package server_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestExpiredAuthority starts a server over a directory whose authority has expired, and over one that is not valid yet.
func TestExpiredAuthority(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, stop, err := launch(in(dir))
	must(t, err)
	must(t, stop())
	for name, begin := range map[string]time.Time{"expired": time.Now().AddDate(-20, 0, 0), "not yet valid": time.Now().AddDate(1, 0, 0)} {
		reissue(t, filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"), begin)
		r, stop, err := launch(in(dir))
		must(t, err)
		if _, err := r.admin(t).CoreV1().Namespaces().List(within(t), metav1.ListOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, data := ask(t, r.httpClient(t), "GET", r.URL+"/metrics", nil); !strings.Contains(string(data), `kx_certificate_expiration_timestamp_seconds{certificate="authority"}`) {
			t.Errorf("%s: the metrics do not say when the authority expires", name)
		}
		must(t, stop())
	}
}

// reissue makes a certificate like the one in a file, valid for ten years from begin on.
func reissue(t *testing.T, certFile, keyFile string, begin time.Time) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	must(t, err)
	template := *pair.Leaf
	template.NotBefore, template.NotAfter = begin, begin.AddDate(10, 0, 0)
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &pair.PrivateKey.(*ecdsa.PrivateKey).PublicKey, pair.PrivateKey)
	must(t, err)
	must(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
}

// TestNamelessCertificate: a client certificate without a common name is nobody's.
func TestNamelessCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, in(dir))
	authority, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	must(t, err)
	template := *authority.Leaf
	template.RawSubject, template.IsCA = nil, false
	template.Subject.CommonName, template.Subject.Organization = "", []string{"system:masters"}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, &template, authority.Leaf, &authority.PrivateKey.(*ecdsa.PrivateKey).PublicKey, authority.PrivateKey)
	must(t, err)
	key, err := x509.MarshalECPrivateKey(authority.PrivateKey.(*ecdsa.PrivateKey))
	must(t, err)
	config := rest.AnonymousClientConfig(r.config)
	config.CertData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	config.KeyData = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})
	client, err := rest.HTTPClientFor(config)
	must(t, err)
	defer client.CloseIdleConnections()
	if res, data := ask(t, client, "GET", r.URL+"/api/v1/namespaces", nil); res.StatusCode != 403 || !strings.Contains(string(data), "system:anonymous") {
		t.Errorf("%s %s", res.Status, data)
	}
}
