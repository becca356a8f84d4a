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

	"github.com/kx-apiserver/kx/server/internal/wiretest"
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
	url, client := startKube(t, binary, "--disable-admission-plugins=ServiceAccount")
	c := &wiretest.Client{URL: url, Admin: client, Anyone: client}
	datadriven.Walk(t, filepath.Join("..", "kube"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return c.Ask(t, d.Input) })
	})
}

// startKube starts a kube-apiserver on an etcd of its own, with these flags beside. It ends with the test.
func startKube(t *testing.T, binary string, flags ...string) (url string, admin *http.Client) {
	t.Helper()
	return startKubeOn(t, binary, startEtcd(t), flags...)
}

func startKubeOn(t *testing.T, binary, etcd string, flags ...string) (url string, admin *http.Client) {
	t.Helper()
	dir := t.TempDir()
	key, tokens := filepath.Join(dir, "sa.key"), tokenFile(t)
	must(t, os.WriteFile(key, newKey(t), 0o600))
	port := freePort(t)
	cmd := exec.Command(binary, append([]string{"--etcd-servers=" + etcd, "--cert-dir=" + dir, "--bind-address=127.0.0.1", "--secure-port=" + port,
		"--token-auth-file=" + tokens, "--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/12",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
	}, flags...)...)
	url = "https://127.0.0.1:" + port
	admin = administrator()
	run(t, cmd, url, admin)
	return url, admin
}

// administrator is a client that has the administrator's token of tokenFile.
func administrator() *http.Client {
	return &http.Client{Transport: withToken{&http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
}

func tokenFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens.csv")
	must(t, os.WriteFile(file, []byte(wiretest.TokenFile()), 0o600))
	return file
}

// run starts a server and waits until it is ready. It ends with the test.
func run(t *testing.T, cmd *exec.Cmd, url string, admin *http.Client) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	must(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	must(t, cmd.Start())
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
		cancel()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for ask := time.NewTicker(100 * time.Millisecond); ; <-ask.C {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
		must(t, err)
		if res, err := admin.Do(req); err == nil {
			must(t, res.Body.Close())
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		if ctx.Err() != nil {
			said, _ := os.ReadFile(log.Name())
			t.Fatalf("%s is not ready:\n%s", cmd.Path, said)
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

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	must(t, err)
	must(t, listener.Close())
	return port
}

func newKey(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	data, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: data})
}
