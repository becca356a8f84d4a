package server_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/server"
)

// served is a server of server.Serve.
type served struct {
	kubeconfig string
	stop       func()
	ended      chan error
}

// serveHere starts a server in this process as a program does that knows server.Serve alone, and waits for its line.
func serveHere(t testing.TB, dir string, log io.Writer, flags ...string) *served {
	t.Helper()
	s := &served{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	out, in := io.Pipe()
	go func() {
		err := server.Serve(ctx, dir, append(flags, "--listen=127.0.0.1:0", "--kubeconfig-out="+s.kubeconfig), in, log)
		in.Close()
		s.ended <- err
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("it printed %q and ended: %v", line, <-s.ended)
	}
	if !strings.HasPrefix(line, "kx: serving https://127.0.0.1:") || !strings.HasSuffix(line, "  kubeconfig: "+s.kubeconfig+"\n") {
		t.Errorf("it printed %q", line)
	}
	return s
}

func (s *served) client(t testing.TB) *kubernetes.Clientset {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	must(t, err)
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return client
}

// TestServe runs two servers in this process, which know nothing of each other and leave nothing. What a server leaves behind in
// memory is found by TestMain.
func TestServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := serveHere(t, dir, io.Discard), serveHere(t, dir, io.Discard, "--controllers=")
	for _, s := range []*served{one, two} {
		_, err := s.client(t).CoreV1().ConfigMaps("default").Create(within(t), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "same"}}, metav1.CreateOptions{})
		must(t, err)
	}
	one.stop()
	must(t, <-one.ended)
	_, err := two.client(t).CoreV1().ConfigMaps("default").Get(within(t), "same", metav1.GetOptions{})
	must(t, err)
	two.stop()
	must(t, <-two.ended)
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("they leave %v", left)
	}
	for _, bad := range []struct{ flag, want string }{
		{"--controlers=", "unknown flag: --controlers (kx serve --help lists those there are)"},
		{"--controllers=-garbage", "garbage"},
		{"controllers=", `takes flags alone, and no "controllers="`},
	} {
		err := server.Serve(t.Context(), dir, []string{bad.flag}, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v", bad.flag, err)
		}
	}
}

// BenchmarkServe has a hundred servers in this process, and says what each further one takes.
func BenchmarkServe(b *testing.B) {
	const many = 100
	for b.Loop() {
		var all []*served
		dir, first := b.TempDir(), 0
		for range many {
			all = append(all, serveHere(b, dir, io.Discard))
			if first == 0 {
				first = resident(b)
			}
		}
		runtime.GC()
		b.ReportMetric(float64(resident(b)-first)/1024/(many-1), "MB/server")
		b.StopTimer()
		var stopped sync.WaitGroup
		for _, s := range all {
			stopped.Go(func() { s.stop(); <-s.ended })
		}
		stopped.Wait()
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/many, "ms/server")
}

// resident is the memory of this process, in KB.
func resident(b *testing.B) int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	kb, err := strconv.Atoi(strings.Fields(after)[0])
	must(b, err)
	return kb
}
