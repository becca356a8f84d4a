package upstream

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/kx-apiserver/kx/server/wiretest"
)

// TestKube asks a kube-apiserver, whose binary the environment names, what kx's TestKube asks kx:
//
//	KUBE_APISERVER=/tmp/kube-apiserver go test -run TestKube -rewrite
//
// records what it answers.
func TestKube(t *testing.T) {
	binary := os.Getenv("KUBE_APISERVER")
	if binary == "" {
		t.Skip("KUBE_APISERVER does not name the binary of a kube-apiserver")
	}
	url, client := startKube(t, binary)
	c := &wiretest.Client{URL: url, Admin: client, Anyone: client}
	datadriven.Walk(t, filepath.Join("..", "kube"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return c.Ask(t, d.Input) })
	})
}

// startKube starts a kube-apiserver on an etcd of its own. It ends with the test.
func startKube(t *testing.T, binary string) (url string, admin *http.Client) {
	t.Helper()
	dir := t.TempDir()
	key, tokens := filepath.Join(dir, "sa.key"), filepath.Join(dir, "tokens.csv")
	must(t, os.WriteFile(key, newKey(t), 0o600))
	must(t, os.WriteFile(tokens, []byte("secret,kx-admin,1,\"system:masters\"\n"), 0o600))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	must(t, err)
	must(t, listener.Close())
	cmd := exec.Command(binary, "--etcd-servers="+startEtcd(t), "--cert-dir="+dir, "--bind-address=127.0.0.1", "--secure-port="+port,
		"--token-auth-file="+tokens, "--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/12",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+key, "--service-account-signing-key-file="+key,
		"--disable-admission-plugins=ServiceAccount")
	log, err := os.Create(filepath.Join(dir, "log"))
	must(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url = "https://127.0.0.1:" + port
	admin = &http.Client{Transport: withToken{&http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for ask := time.NewTicker(100 * time.Millisecond); ; <-ask.C {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
		must(t, err)
		if res, err := admin.Do(req); err == nil {
			must(t, res.Body.Close())
			if res.StatusCode == http.StatusOK {
				return url, admin
			}
		}
		if ctx.Err() != nil {
			said, _ := os.ReadFile(log.Name())
			t.Fatalf("kube-apiserver is not ready:\n%s", said)
		}
	}
}

// withToken sends requests as the administrator.
type withToken struct{ http.RoundTripper }

func (w withToken) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer secret")
	return w.RoundTripper.RoundTrip(req)
}

func newKey(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	data, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: data})
}
