package server_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/options"
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

// TestGivenFilesReload replaces the serving certificate and the authority of clients while the server runs, by files of
// no use too.
func TestGivenFilesReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	caFile, certFile, keyFile := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	issue := func() (*identity.Authority, []byte) {
		home, err := identity.OpenDataDir(t.TempDir())
		must(t, err)
		defer home.Close()
		authority, err := identity.LoadAuthority(home)
		must(t, err)
		serving, err := authority.ServingCert(nil)
		must(t, err)
		key, err := x509.MarshalPKCS8PrivateKey(serving.PrivateKey)
		must(t, err)
		must(t, os.WriteFile(caFile, authority.CertPEM(), 0o600))
		must(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: serving.Certificate[0]}), 0o600))
		must(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
		return authority, serving.Certificate[0]
	}
	before, _ := issue()
	log := &syncBuffer{}
	r, stop, err := launchLogging(slog.New(slog.NewTextHandler(log, nil)), nil, func(o *options.Options) {
		o.Access.ClientCAFile, o.Serving.TLSCertFile, o.Serving.TLSPrivateKeyFile = caFile, certFile, keyFile
	})
	must(t, err)
	defer func() { must(t, stop()) }()
	// ask connects anew: it says whether the user of an authority comes in, whether the server names that authority to
	// clients, and which certificate it has.
	ask := func(authority *identity.Authority) (in, named bool, shown []byte) {
		certPEM, keyPEM, err := authority.ClientCert("boss", "system:masters")
		must(t, err)
		pair, err := tls.X509KeyPair(certPEM, keyPEM)
		must(t, err)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true,
			GetClientCertificate: func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
				named = info.SupportsCertificate(&pair) == nil
				return &pair, nil
			},
		}}}
		res, err := client.Get(r.URL + "/api/v1/namespaces")
		must(t, err)
		must(t, res.Body.Close())
		return res.StatusCode == http.StatusOK, named, res.TLS.PeerCertificates[0].Raw
	}
	if in, named, _ := ask(before); !in || !named {
		t.Fatalf("at the start: in %v, named %v", in, named)
	}
	for _, file := range []string{caFile, certFile} {
		must(t, os.WriteFile(file, []byte("no certificate"), 0o600))
	}
	const stays = "stay as they were"
	until(t, "the log names both files", func() bool { return strings.Count(log.String(), stays) == 2 })
	if in, named, _ := ask(before); !in || !named {
		t.Errorf("after files of no use: in %v, named %v", in, named)
	}
	after, cert := issue()
	until(t, "the server has the new files", func() bool {
		in, named, shown := ask(after)
		return in && named && bytes.Equal(shown, cert)
	})
	if in, _, _ := ask(before); in {
		t.Error("the old authority is still believed")
	}
	until(t, "the kubeconfig has the new serving certificate", func() bool {
		config, err := clientcmd.BuildConfigFromFlags("", r.Kubeconfig)
		must(t, err)
		return bytes.Equal(config.CAData, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	})
}
