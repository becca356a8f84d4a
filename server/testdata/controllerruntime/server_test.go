package controllerruntime

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// patience bounds what tests wait for; none waits for it to pass.
const patience = 3 * time.Minute

// process is a server that can be killed and started again: same address, same data.
type process struct {
	t       *testing.T
	command func() *exec.Cmd
	ready   func(*process) // returns when it serves

	cmd *exec.Cmd
	// first is the first line on stdout, if there was one.
	first chan string
	ended chan struct{}
	log   bytes.Buffer
}

func (p *process) start() {
	p.t.Helper()
	p.cmd, p.first, p.ended = p.command(), make(chan string, 1), make(chan struct{})
	p.log.Reset()
	p.cmd.Stderr = &p.log
	out, err := p.cmd.StdoutPipe()
	must(p.t, err)
	must(p.t, p.cmd.Start())
	go func(cmd *exec.Cmd, first chan string, ended chan struct{}) {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			select {
			case first <- lines.Text():
			default:
			}
		}
		_ = cmd.Wait()
		close(ended)
	}(p.cmd, p.first, p.ended)
	p.ready(p)
}

// kill ends it at once, whatever it is doing.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// binary is kx, built once.
var binary string

func TestMain(m *testing.M) {
	// What goes wrong while the server is away is meant to.
	logf.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(built(m))
}

func built(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kx")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "kx")
	cmd := exec.Command("go", "build", "-o", binary, "./cmd/kx")
	cmd.Dir = filepath.Join("..", "..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build kx: %v\n%s", err, out))
	}
	cache := filepath.Join(dir, "cache")
	cmd = exec.Command(binary, "testassets")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "HOME="+cache)
	assets, err := cmd.Output()
	if err != nil {
		panic(fmt.Sprintf("kx testassets: %v", err))
	}
	os.Setenv("KUBEBUILDER_ASSETS", strings.TrimSuffix(string(assets), "\n"))
	return m.Run()
}

var readyLine = regexp.MustCompile(`^kx: serving (https://\S+)  kubeconfig: (.+)$`)

// kx starts a kx that keeps its data, and returns it with an administrator's configuration.
func kx(t *testing.T, flags ...string) (*process, *rest.Config) {
	t.Helper()
	dir := t.TempDir()
	args := append([]string{"serve", "--data-dir", dir, "--listen", freeAddress(t)}, flags...)
	p := &process{
		t:       t,
		command: func() *exec.Cmd { return exec.Command(binary, args...) },
		ready: func(p *process) {
			select {
			case line := <-p.first:
				if !readyLine.MatchString(line) {
					t.Fatalf("kx serve began with %q", line)
				}
			case <-p.ended:
				t.Fatalf("kx serve ended at its start:\n%s", &p.log)
			case <-time.After(patience):
				t.Fatalf("kx serve is not ready after %v", patience)
			}
		},
	}
	p.start()
	t.Cleanup(func() { p.kill() })
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	must(t, err)
	config.QPS = -1
	return p, config
}

// kube starts a kube-apiserver on the etcd of a kx, which stays when the kube-apiserver is killed.
func kube(t *testing.T, binary string) (*process, *rest.Config) {
	t.Helper()
	etcd, address, dir := "http://"+freeAddress(t), freeAddress(t), t.TempDir()
	kx(t, "--embedded-etcd-listen", etcd)
	tokens, key := filepath.Join(dir, "tokens.csv"), filepath.Join(dir, "sa.key")
	must(t, os.WriteFile(tokens, []byte("secret,admin,1,\"system:masters\"\n"), 0o600))
	must(t, os.WriteFile(key, newKey(t), 0o600))
	host, port, err := net.SplitHostPort(address)
	must(t, err)
	config := &rest.Config{Host: "https://" + address, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}
	client, err := rest.HTTPClientFor(config)
	must(t, err)
	p := &process{
		t: t,
		command: func() *exec.Cmd {
			return exec.Command(binary, "--etcd-servers="+etcd, "--etcd-prefix=/kube", "--cert-dir="+dir, "--bind-address="+host,
				"--secure-port="+port, "--token-auth-file="+tokens, "--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/12",
				"--disable-admission-plugins=ServiceAccount", "--service-account-issuer=https://kubernetes.default.svc",
				"--service-account-key-file="+key, "--service-account-signing-key-file="+key)
		},
		ready: func(p *process) {
			until(t, "the kube-apiserver is ready", func() bool {
				res, err := client.Get(config.Host + "/readyz")
				if err != nil {
					return false
				}
				must(t, res.Body.Close())
				return res.StatusCode == http.StatusOK
			})
		},
	}
	p.start()
	t.Cleanup(func() { p.kill() })
	return p, config
}

// onEach runs a test on kx, and on the kube-apiserver that the environment names.
func onEach(t *testing.T, test func(*testing.T, *process, *rest.Config)) {
	t.Run("kx", func(t *testing.T) {
		p, config := kx(t)
		test(t, p, config)
	})
	t.Run("kube-apiserver", func(t *testing.T) {
		binary := os.Getenv("KUBE_APISERVER")
		if binary == "" {
			t.Skip("KUBE_APISERVER does not name the binary of a kube-apiserver")
		}
		p, config := kube(t, binary)
		test(t, p, config)
	})
}

var nextPort = struct {
	sync.Mutex
	n int
}{n: 20000 + os.Getpid()%5000}

// freeAddress is one that nothing listens on. It is below the ports that Linux gives to those who connect: a client that
// asks for a killed server could otherwise get the server's own port, and keep the server from it.
func freeAddress(t *testing.T) string {
	t.Helper()
	nextPort.Lock()
	defer nextPort.Unlock()
	for range 1000 {
		nextPort.n++
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(nextPort.n)))
		if err == nil {
			must(t, listener.Close())
			return listener.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

func newKey(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	data, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: data})
}

// until waits until the answer is yes.
func until(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !yes(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in %v it did not come to pass that %s", patience, what)
		}
	}
}

// within is a context that does not outlast patience.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
