package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"key": "value"}}
}

func TestOneServerADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := serve(t, "--data-dir", dir)
	out, err := kx(t, "serve", "--listen=127.0.0.1:0", "--data-dir", dir).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the second ended with %v", err)
	}
	if text := string(out); strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "kx: ") || !strings.Contains(text, first.url) || !strings.Contains(text, "--data-dir") {
		t.Errorf("the second said %q", text)
	}
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ flag, want string }{
		{"--runtime-config=apps/v9=true", "apps/v9"},
		{"--max-journeys=0", "--max-journeys: 0 is too few"},
		{"--storage-backend=etcd2", "allowed values: etcd3"},
		{"--watch-cache-sizes=pods#-1", "pods#-1"},
		{"--token-auth-file=/does/not/exist", "--token-auth-file"},
		{"--service-account-signing-key-file=/does/not/exist", "--service-account-signing-key-file: stat /does/not/exist: no such file"},
		{"--service-account-key-file=/does/not/exist", "--service-account-key-file: open /does/not/exist: no such file"},
		{"--authentication-config=/does/not/exist", "--authentication-config: open /does/not/exist: no such file"},
		{"--oidc-issuer-url=https://a.example --oidc-client-id=kx --oidc-ca-file=/does/not/exist", "--oidc-ca-file: open /does/not/exist: no such file"},
		{"--authentication-token-webhook-config-file=/does/not/exist", "--authentication-token-webhook-config-file: /does/not/exist"},
		{"--authorization-config=/does/not/exist", "--authorization-config: open /does/not/exist: no such file"},
		{"--authorization-mode=Node", "--authorization-mode: the mode Node is not available: leave Node out: kubelets get their rights by roles here"},
		{"--authorization-mode=Webhook --authorization-webhook-config-file=/does/not/exist", "the authorizer default: /does/not/exist: "},
		{"--admission-control-config-file=/does/not/exist", "--admission-control-config-file: "},
		{"--audit-policy-file=/does/not/exist --audit-log-path=-", "--audit-policy-file"},
		{"--encryption-provider-config=/does/not/exist", "/does/not/exist"},
		{"--embedded-etcd-listen=http://192.0.2.1:1", "192.0.2.1"},
	} {
		args := append([]string{"serve", "--listen=127.0.0.1:0", "--ephemeral"}, strings.Fields(test.flag)...)
		out, err := kx(t, args...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "kx: ") || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %v %q", test.flag, err, out)
		}
		if strings.Contains(string(out), "goroutine ") {
			t.Errorf("%s: a stack is shown to the user: %s", test.flag, out)
		}
	}
}

// slowCreate begins to create a config map and returns when the server has the request: its body is for the caller to
// end.
func (p *process) slowCreate(t *testing.T) (body io.WriteCloser, answered <-chan int) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	code := make(chan int, 1)
	go func() {
		res, err := client.Post(p.url+"/api/v1/namespaces/default/configmaps", "application/json", reader)
		if err != nil {
			code <- 0
			return
		}
		res.Body.Close()
		code <- res.StatusCode
	}()
	if _, err := io.WriteString(writer, `{"apiVersion":"v1","kind":"ConfigMap",`); err != nil {
		t.Fatal(err)
	}
	until(t, "the server has the request", func() bool {
		res, err := client.Get(p.url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), `apiserver_current_inflight_requests{request_kind="mutating"} 1`)
	})
	return writer, code
}

// until asks again and again until the answer is yes.
func until(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !yes(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in %v it did not come to pass that %s", patience, what)
		}
	}
}

// TestOrderlyStop has a watch and a slow request under way when the signal comes.
func TestOrderlyStop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, "--data-dir", dir)
	c := p.client(t)
	ctx := context.Background()
	w, err := c.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	send, answered := p.slowCreate(t)
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			t.Errorf("the watch ended with an error: %v", event.Object)
		}
	}
	if _, err := c.CoreV1().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err == nil || !strings.Contains(err.Error(), "[-]shutdown failed") {
		t.Errorf("/readyz while it stops: %v", err)
	}
	if _, err := c.CoreV1().RESTClient().Get().AbsPath("/api/v1/pods").MaxRetries(0).DoRaw(ctx); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a new request while it stops: %v", err)
	}
	if _, err := io.WriteString(send, `"metadata":{"name":"late"}}`); err != nil {
		t.Fatal(err)
	}
	send.Close()
	if got := <-answered; got != http.StatusCreated {
		t.Errorf("the request under way was answered %d", got)
	}
	if err := p.wait(); err != nil {
		t.Errorf("kx ended with %v: %s", err, p.stderr)
	}
	again := serve(t, "--data-dir", dir)
	if _, err := again.client(t).CoreV1().ConfigMaps("default").Get(ctx, "late", metav1.GetOptions{}); err != nil {
		t.Errorf("what the request under way wrote: %v", err)
	}
}

// TestSecondSignal has two signals while a request is under way: the second ends the process at once, and leaves nothing.
func TestSecondSignal(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	p := serve(t, "--ephemeral")
	send, _ := p.slowCreate(t)
	defer send.Close()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// Two signals at once would be one.
	until(t, "it says that it stops", func() bool { return strings.Contains(p.stderr.String(), "stopping") })
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := p.wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("kx ended with %v: %s", err, p.stderr)
	}
	if left, _ := filepath.Glob(tmp + "/*/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestEphemeralLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	p := serve(t, "--ephemeral")
	if !strings.HasPrefix(p.kubeconfig, tmp) {
		t.Fatalf("the kubeconfig is at %s", p.kubeconfig)
	}
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(tmp + "/*/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestOutlet: a server stops when the reader of its output has ended.
func TestOutlet(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, stop := context.WithCancelCause(t.Context())
	out := &outlet{w, stop}
	if _, err := out.Write([]byte("a\n")); err != nil || ctx.Err() != nil {
		t.Errorf("with a reader: %v, %v", err, context.Cause(ctx))
	}
	r.Close()
	if _, err := out.Write([]byte("b\n")); err == nil || ctx.Err() == nil {
		t.Errorf("without a reader: %v, %v", err, ctx.Err())
	}
}

// TestEphemeralWithoutReader: when the process ends that started a server and read what it says, the server stops in good
// order, and leaves nothing.
func TestEphemeralWithoutReader(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	p := kx(t, "serve", "--listen=127.0.0.1:0", "--ephemeral", "--until-stdin-ends")
	p.Env = append(p.Env, "TMPDIR="+tmp)
	stdin, inErr := p.StdinPipe()
	stdout, outErr := p.StdoutPipe()
	stderr, err := p.StderrPipe()
	if err = errors.Join(inErr, outErr, err, p.Start()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || !readyLine.MatchString(strings.TrimSpace(line)) {
		t.Errorf("kx serve said %q: %v", line, err)
	}
	stdout.Close()
	stderr.Close()
	stdin.Close()
	if err := p.Wait(); err != nil {
		t.Errorf("kx ended with %v", err)
	}
	if left, _ := filepath.Glob(tmp + "/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestKill kills the server in the middle of a thousand concurrent creates: what it acknowledged is there afterwards, and a
// watch that goes on from before is told of it.
func TestKill(t *testing.T) {
	t.Parallel()
	const objects, writers, enough = 1000, 50, 300
	dir := t.TempDir()
	p := serve(t, "--data-dir", dir)
	c := p.client(t)
	before, err := c.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var acknowledged sync.Map
	var count, next atomic.Int64
	var kill sync.Once
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for i := next.Add(1); i <= objects; i = next.Add(1) {
				name := fmt.Sprintf("cm-%d", i)
				created, err := c.CoreV1().ConfigMaps("default").Create(context.Background(), configMap(name), metav1.CreateOptions{})
				if err != nil {
					return // killed
				}
				acknowledged.Store(name, created.ResourceVersion)
				if count.Add(1) == enough {
					kill.Do(func() { _ = p.Process.Kill() })
				}
			}
		})
	}
	wg.Wait()
	_ = p.wait()
	if n := count.Load(); n < enough || n == objects {
		t.Fatalf("%d of %d creates were acknowledged before the kill: it was not in the middle", n, objects)
	}
	configMaps := serve(t, "--data-dir", dir).client(t).CoreV1().ConfigMaps("default")
	list, err := configMaps.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, cm := range list.Items {
		found[cm.Name] = cm.ResourceVersion
	}
	w, err := configMaps.Watch(context.Background(), metav1.ListOptions{ResourceVersion: before.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for left := maps.Clone(found); len(left) > 0; {
		e := <-w.ResultChan()
		cm, ok := e.Object.(*corev1.ConfigMap)
		if !ok || e.Type != watch.Added || left[cm.Name] != cm.ResourceVersion {
			t.Fatalf("%d are left, and the watch is told %s %v", len(left), e.Type, e.Object)
		}
		delete(left, cm.Name)
	}
	acknowledged.Range(func(name, rv any) bool {
		if found[name.(string)] != rv {
			t.Errorf("%s was acknowledged at %s and is at %q", name, rv, found[name.(string)])
		}
		return true
	})
}

// TestCluster has two servers in front of three etcds, one of which stops.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := embedtest.StartCluster(t)
	servers := "--etcd-servers=" + strings.Join(cluster.Endpoints(), ",")
	a := serve(t, "--data-dir", t.TempDir(), servers).client(t).CoreV1().ConfigMaps("default")
	b := serve(t, "--data-dir", t.TempDir(), servers).client(t).CoreV1().ConfigMaps("default")
	ctx := context.Background()
	list, err := b.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// As any client's, the watch goes on from where it was when the etcd that it hung on has lost its leader.
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return b.Watch(ctx, o) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	through := func(name string) {
		t.Helper()
		created, err := a.Create(ctx, configMap(name), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		read, err := b.Get(ctx, name, metav1.GetOptions{})
		if err != nil || read.UID != created.UID || read.ResourceVersion != created.ResourceVersion {
			t.Fatalf("written %v, read %v, %v", created, read, err)
		}
		event := <-w.ResultChan()
		if seen, ok := event.Object.(*corev1.ConfigMap); !ok || seen.Name != name {
			t.Fatalf("the other server's watch saw %v", event)
		}
	}
	through("before")
	cluster.Stop(cluster.Leader())
	through("after")
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	p := serve(t, "--ephemeral")
	c := p.client(t)
	var out []byte
	var err error
	for deadline := time.Now().Add(patience); ; <-time.After(10 * time.Millisecond) { // controllers look at all keys first
		out, err = c.CoreV1().RESTClient().Get().AbsPath("/readyz").Param("verbose", "").DoRaw(context.Background())
		if err == nil || time.Now().After(deadline) {
			break
		}
	}
	if err != nil || !strings.Contains(string(out), "[+]etcd ok") || !strings.HasSuffix(string(out), "readyz check passed\n") {
		t.Errorf("%s, %v", out, err)
	}
	res, err := http.Get(strings.Replace(p.url, "https", "http", 1) + "/readyz")
	if err == nil {
		defer res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("plain HTTP is answered %d", res.StatusCode)
		}
	}
}

// BenchmarkStart is from the start of the process to the answer that the first object was created: of a server as it is, and of one
// that makes no objects by itself.
func BenchmarkStart(b *testing.B) {
	for name, flags := range map[string][]string{"usual": asUsual, "bare": nil} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				p := serve(b, append([]string{"--data-dir", b.TempDir()}, flags...)...)
				if _, err := p.client(b).CoreV1().ConfigMaps("default").Create(context.Background(), configMap("first"), metav1.CreateOptions{}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
				_ = p.Process.Kill()
				_ = p.wait()
			}
			slices.Sort(took)
			at := func(percent int) float64 { return float64(took[(len(took)*percent+99)/100-1].Microseconds()) / 1000 }
			b.ReportMetric(at(50), "p50-ms")
			b.ReportMetric(at(99), "p99-ms")
			b.ReportMetric(0, "ns/op") // it has the end of the process in it
		})
	}
}

// TestLostFiles takes files from a data directory that was used. A start makes them anew and says so.
func TestLostFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, "--data-dir", dir)
	if said := p.stderr.String(); strings.Contains(said, "is gone") {
		t.Errorf("a first start said %s", said)
	}
	p.stop(t)
	for _, name := range []string{"sa.key", "etcd"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p = serve(t, "--data-dir", dir)
	etcd := filepath.Join(dir, "etcd")
	for _, want := range []string{filepath.Join(dir, "sa.key") + " is gone", "the data of etcd is gone from " + etcd} {
		until(t, "it says "+want, func() bool { return strings.Contains(p.stderr.String(), want) })
	}
}
