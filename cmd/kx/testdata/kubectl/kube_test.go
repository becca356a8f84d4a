package kubectl

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// kubeBinary is the kube-apiserver to ask instead of kx, if there is one. Only what it says may be recorded.
func kubeBinary(t *testing.T) string {
	t.Helper()
	binary := os.Getenv("KUBE_APISERVER")
	if flag.Lookup("rewrite").Value.String() == "true" && binary == "" {
		t.Fatal("the transcripts are recorded from a kube-apiserver, and KUBE_APISERVER does not name the binary of one")
	}
	return binary
}

// token is in the file of tokens, and kubeconfig shows it.
const token = "secret,kx-admin,1,\"system:masters\"\n"

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: kube, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: secret}}]
contexts: [{name: kube, context: {cluster: kube, user: admin}}]
current-context: kube
`

// use lets kubectl ask a server with the token.
func (m *machine) use(t *testing.T, url string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.home, "kubeconfig"), fmt.Appendf(nil, kubeconfig, url), 0o600); err != nil {
		t.Fatal(err)
	}
}

// unasked are the plugins that change objects, or that kx does not have. They are off on both servers.
const unasked = "CertificateApproval,CertificateSigning,CertificateSubjectRestriction,ClusterTrustBundleAttest,DefaultIngressClass," +
	"DefaultStorageClass,DefaultTolerationSeconds,LimitRanger,MutatingAdmissionPolicy,MutatingAdmissionWebhook," +
	"NodeDeclaredFeatureValidator,PersistentVolumeClaimResize,PodGroupProtection,PodResizeValidator,PodSecurity,PodTopologyLabels," +
	"Priority,ResourceQuota,RuntimeClass,ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition," +
	"ValidatingAdmissionPolicy,ValidatingAdmissionWebhook"

// serveKube starts a kube-apiserver on the etcd of a kx.
func serveKube(t *testing.T, kx, binary string) *machine {
	t.Helper()
	etcd, port := "http://127.0.0.1:"+freePort(t), freePort(t)
	serve(t, kx, "--embedded-etcd-listen", etcd)
	m := &machine{home: t.TempDir(), kx: kx}
	write := func(name string, content []byte) string {
		path := filepath.Join(m.home, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	m.use(t, "https://127.0.0.1:"+port)
	tokens, key := write("tokens.csv", []byte(token)), write("sa.key", newKey(t))
	cmd := exec.Command(binary, "--etcd-servers="+etcd, "--etcd-prefix=/kube", "--cert-dir="+m.home, "--bind-address=127.0.0.1", "--secure-port="+port,
		"--token-auth-file="+tokens, "--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/12", "--disable-admission-plugins="+unasked,
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+key,
		"--service-account-signing-key-file="+key)
	log, err := os.Create(filepath.Join(m.home, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for ask := time.NewTicker(200 * time.Millisecond); m.kubectl(t, "get", "--raw=/readyz").code != 0; <-ask.C {
		if ctx.Err() != nil {
			said, _ := os.ReadFile(log.Name())
			t.Fatalf("the kube-apiserver is not ready:\n%s", said)
		}
	}
	return m
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func newKey(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	data, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: data})
}
