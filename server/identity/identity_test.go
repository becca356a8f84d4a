package identity

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func open(t *testing.T, path string) *DataDir {
	t.Helper()
	d, err := OpenDataDir(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOneOwner(t *testing.T) {
	path := t.TempDir()
	first := open(t, path)
	if err := first.SetOwner("https://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	_, err := OpenDataDir(path)
	if err == nil || !strings.Contains(err.Error(), "in use by another kx (pid ") || !strings.Contains(err.Error(), "https://127.0.0.1:1") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a second owner: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path).Close(); err != nil {
		t.Error(err)
	}
}

func TestEphemeralLeavesNothing(t *testing.T) {
	path, err := MakeEphemeral()
	if err != nil {
		t.Fatal(err)
	}
	d, err := OpenEphemeral(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LoadAuthority(d); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.Path); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", d.Path, err)
	}
}

func TestAuthorityIsKept(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	first, err := LoadAuthority(d)
	if err != nil {
		t.Fatal(err)
	}
	second, err := LoadAuthority(d)
	if err != nil {
		t.Fatal(err)
	}
	if string(first.CertPEM()) != string(second.CertPEM()) {
		t.Error("a second start made another authority")
	}
	if info, err := os.Stat(d.File("ca.key")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info.Mode(), err)
	}
	if err := os.Remove(d.File("ca.key")); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadAuthority(d); err == nil || !strings.Contains(err.Error(), "remove both") {
		t.Errorf("a certificate without its key: %v", err)
	}
	if err := os.WriteFile(d.File("ca.key"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadAuthority(d); err == nil || !strings.Contains(err.Error(), "remove both") {
		t.Errorf("a broken key: %v", err)
	}
}

// TestKubeconfig goes through what a client does: it believes the server, and the server knows the client.
func TestKubeconfig(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	a, err := LoadAuthority(d)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := NewTLS(a, Files{}, []string{"kx.test", "192.0.2.1"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	url := serveTLS(t, serving, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, c := range r.TLS.PeerCertificates {
			if _, err := c.Verify(x509.VerifyOptions{Roots: serving.ClientCAs(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err == nil {
				w.Header().Set("User", c.Subject.CommonName+" "+strings.Join(c.Subject.Organization, ","))
			}
		}
	}))

	file := filepath.Join(t.TempDir(), "new", "kubeconfig")
	if err := serving.WriteKubeconfig(file, url); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(file); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig's mode is %v", info.Mode())
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := res.Header.Get("User"); got != "kx-admin system:masters" {
		t.Errorf("the server takes the client for %q", got)
	}
	leaf, err := shown(serving)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"kx.test", "192.0.2.1", "localhost", "127.0.0.1", "::1", "kubernetes.default.svc"} {
		if err := leaf.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
}

// serveTLS serves as a server does, and says where.
func serveTLS(t *testing.T, serving *TLS, handler http.Handler) (url string) {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", serving.Config)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return "https://" + listener.Addr().String()
}

// shown is the certificate that a client is shown.
func shown(serving *TLS) (*x509.Certificate, error) {
	cert, err := serving.Config.GetCertificate(nil)
	if err != nil {
		return nil, err
	}
	return cert.Leaf, nil
}

func TestGivenFiles(t *testing.T) {
	d, other := open(t, t.TempDir()), open(t, t.TempDir())
	defer d.Close()
	defer other.Close()
	a, err := LoadAuthority(d)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := LoadAuthority(other)
	if err != nil {
		t.Fatal(err)
	}
	certPEM, keyPEM, err := foreign.issue(&x509.Certificate{DNSNames: []string{"kx.test"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		t.Fatal(err)
	}
	cert, key := d.File("tls.crt"), d.File("tls.key")
	for path, data := range map[string][]byte{cert: certPEM, key: keyPEM, d.File("empty.pem"): nil} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	serving, err := NewTLS(a, Files{TLSCert: cert, TLSKey: key, ClientCA: other.File("ca.crt")}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(serving.serverCA)
	leaf, _ := shown(serving)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "kx.test"}); err != nil {
		t.Errorf("a client that believes the file does not believe the server: %v", err)
	}
	for _, issuer := range []*Authority{a, foreign} {
		certPEM, keyPEM, err := issuer.ClientCert("u")
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(certPEM, keyPEM)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: serving.ClientCAs(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
			t.Errorf("a client certificate is not believed: %v", err)
		}
	}
	for name, files := range map[string]Files{
		"--client-ca-file":  {ClientCA: d.File("empty.pem")},
		"--client-ca-file:": {ClientCA: d.File("missing")},
		"--tls-cert-file":   {TLSCert: d.File("empty.pem"), TLSKey: key},
	} {
		if _, err := NewTLS(a, files, nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v", files, err)
		}
	}
}
