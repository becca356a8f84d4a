package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
)

// bench is a durable server, and an HTTP client of it.
type bench struct {
	*server.Server
	config *rest.Config
	http   *http.Client
}

func newBench(b *testing.B, edit ...func(*options.Options)) *bench {
	b.Helper()
	o := options.New()
	o.InitialObjects, o.Controllers = false, controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}
	o.DataDir, o.Listen = b.TempDir(), "127.0.0.1:0"
	for _, e := range edit {
		e(o)
	}
	s, err := server.Start(context.Background(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			b.Error(err)
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		b.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		b.Fatal(err)
	}
	return &bench{Server: s, config: config, http: client}
}

const configMaps = "/api/v1/namespaces/default/configmaps"

// kibibyte is what the objects of the benchmarks carry.
var kibibyte = strings.Repeat("x", 1024)

func object(name string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"labels":{"n":%q}},"data":{"k":%q}}`, name, name, kibibyte)
}

// do sends a request and reads its answer, which must have the code.
func (s *bench) do(b *testing.B, method, path string, body []byte, code int) {
	req, err := http.NewRequest(method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := s.http.Do(req)
	if err != nil {
		b.Error(err)
		return
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil || n == 0 || res.StatusCode != code {
		b.Errorf("%s %s: %d, %d bytes, %v", method, path, res.StatusCode, n, err)
	}
}

// fill creates objects 0 to n-1.
func (s *bench) fill(b *testing.B, n int) {
	b.Helper()
	for i := range n {
		s.do(b, "POST", configMaps, object(fmt.Sprint("o-", i)), 201)
	}
}

// alone and together run f one at a time, and from as many goroutines as tell how the server scales.
func aloneAndTogether(b *testing.B, f func(b *testing.B, n int64)) {
	var next atomic.Int64
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			f(b, next.Add(1))
		}
	})
	b.Run("together", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				f(b, next.Add(1))
			}
		})
	})
}

func BenchmarkCreate(b *testing.B) {
	s := newBench(b)
	aloneAndTogether(b, func(b *testing.B, n int64) {
		s.do(b, "POST", configMaps, object(fmt.Sprint("c-", n)), 201)
	})
}

func BenchmarkGet(b *testing.B) {
	s := newBench(b)
	s.fill(b, 100)
	aloneAndTogether(b, func(b *testing.B, n int64) {
		s.do(b, "GET", fmt.Sprint(configMaps, "/o-", n%100), nil, 200)
	})
}

func BenchmarkUpdate(b *testing.B) {
	s := newBench(b)
	s.fill(b, 100)
	aloneAndTogether(b, func(b *testing.B, n int64) {
		name := fmt.Sprint("o-", n%100)
		body := bytes.Replace(object(name), []byte(`"labels":{`), fmt.Appendf(nil, `"labels":{"round":"%d",`, n), 1)
		s.do(b, "PUT", configMaps+"/"+name, body, 200)
	})
}

func BenchmarkList(b *testing.B) {
	s := newBench(b)
	s.fill(b, 1000)
	for _, query := range []string{"", "?limit=100", "?labelSelector=n%3Do-7"} {
		name := query
		if name == "" {
			name = "whole"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.do(b, "GET", configMaps+query, nil, 200)
			}
		})
	}
}

// BenchmarkWatch is from the write of an object until a watcher has its event.
func BenchmarkWatch(b *testing.B) {
	s := newBench(b)
	clients, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		b.Fatal(err)
	}
	w, err := clients.CoreV1().ConfigMaps("default").Watch(context.Background(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Stop()
	var n int
	for b.Loop() {
		n++
		name := fmt.Sprint("w-", n)
		s.do(b, "POST", configMaps, object(name), 201)
		event := <-w.ResultChan()
		if cm, ok := event.Object.(*corev1.ConfigMap); !ok || cm.Name != name {
			b.Fatalf("%v is not the event of %s", event, name)
		}
	}
}
