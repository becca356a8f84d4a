package bench_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/cmd/kx/internal/bench"
	"github.com/kx-apiserver/kx/cmd/kx/internal/bench/testdata/floor/static"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
)

// kx is a server of this process.
var kx = sync.OnceValues(func() (*rest.Config, error) {
	o := options.New()
	o.InitialObjects, o.Controllers = false, controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}
	o.Ephemeral, o.Listen = true, "127.0.0.1:0"
	s, err := server.Start(context.Background(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	stop = func() error { return s.Stop(context.Background()) }
	return clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
})

var stop = func() error { return nil }

func TestMain(m *testing.M) {
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func startKX(t *testing.T) *rest.Config {
	t.Helper()
	config, err := kx()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func small(shape string) bench.Settings {
	return bench.Settings{Objects: 130, Size: 1500, Shape: shape, Concurrency: 8, Watchers: 3, Rate: 50, Duration: 40 * time.Millisecond}
}

// Every operation works against kx, in either shape, and nothing stays.
func TestAll(t *testing.T) {
	config := startKX(t)
	var out bytes.Buffer
	result, err := bench.Run(t.Context(), bench.Options{Config: config, Passes: []bench.Settings{small(bench.Flat), small(bench.Nested)}, Out: &out})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Passes) != 2 || !strings.HasPrefix(result.Server, "v1.") {
		t.Errorf("%d passes of %s", len(result.Passes), result.Server)
	}
	for _, p := range result.Passes {
		var names []string
		for _, m := range p.Operations {
			names = append(names, m.Name)
			if m.Count == 0 || m.Failed > 0 || m.PerSecond <= 0 || m.P50Micros <= 0 || m.P99Micros < m.P50Micros || m.MaxMicros < m.P99Micros {
				t.Errorf("%s: %+v", p.Shape, m)
			}
			if !strings.Contains(out.String(), "\n"+m.Name+" ") {
				t.Errorf("the table has no row of %s", m.Name)
			}
		}
		if diff := cmp.Diff(bench.Operations(), names); diff != "" {
			t.Errorf("%s: -want +got\n%s", p.Shape, diff)
		}
		checkSizes(t, p)
	}
	checkClean(t, config)
}

// checkSizes looks at what was received: it tells whether lists had all that they should have.
func checkSizes(t *testing.T, p bench.Pass) {
	t.Helper()
	received := map[string]float64{}
	for _, m := range p.Operations {
		received[m.Name] = float64(m.ReceivedBytes)
	}
	objects := float64(p.Objects)
	for _, tt := range []struct {
		name        string
		least, most float64
	}{
		{"get", 1500, 4000},
		{"get-rv0", 1500, 4000},
		{"list", objects * 1500, objects * 4000},
		{"list-rv0", objects * 1500, objects * 4000},
		{"list-gzip", objects * 300, objects * 1500},
		{"list-paged", objects * 1500, objects * 4000},
		{"watchlist", objects * 1500, objects * 4000},
		{"list-selector", objects / 100 * 1400, objects / 100 * 6000},
		{"table", objects * 100, objects * 4000},
	} {
		if got := received[tt.name]; got < tt.least || got > tt.most {
			t.Errorf("%s, %s: an answer has %.0f bytes, want %.0f to %.0f", p.Shape, tt.name, got, tt.least, tt.most)
		}
	}
}

// checkClean looks for what may be left.
func checkClean(t *testing.T, config *rest.Config) {
	t.Helper()
	definitions, err := clientset.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	left, err := definitions.ApiextensionsV1().CustomResourceDefinitions().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if left.Items = slices.DeleteFunc(left.Items, func(d apiextensionsv1.CustomResourceDefinition) bool {
		return !strings.HasSuffix(d.Name, ".bench.kx.dev")
	}); len(left.Items) > 0 {
		t.Errorf("left: %d definitions, the first %s", len(left.Items), left.Items[0].Name)
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	spaces, err := core.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range spaces.Items {
		if strings.HasPrefix(n.Name, "kx-bench-") && n.DeletionTimestamp == nil {
			t.Errorf("left: namespace %s", n.Name)
		}
	}
}

// Whoever interrupts it, while it shows what it does, finds nothing left.
func TestInterrupted(t *testing.T) {
	config := startKX(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted by the user")
	var lines []string
	s := small(bench.Flat)
	s.Duration = time.Hour
	_, err := bench.Run(ctx, bench.Options{Config: config, Passes: []bench.Settings{s}, Progress: func(line string) {
		lines = append(lines, line)
		if strings.HasPrefix(line, "get:") {
			cancel(why)
		}
	}})
	if !errors.Is(err, why) || !strings.HasPrefix(err.Error(), "get: ") {
		t.Errorf("ended with: %v", err)
	}
	if lines[0] != "setting up" || !slices.Contains(lines, "cleaning up") {
		t.Errorf("progress: %q", lines)
	}
	checkClean(t, config)
}

func serveStatic(t *testing.T, h http.Handler) *rest.Config {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// The floor can be measured by the same requests. With more objects than a page has, pages are followed.
func TestFloor(t *testing.T) {
	s := small(bench.Flat)
	s.Objects = 1100
	result, err := bench.Run(t.Context(), bench.Options{Config: serveStatic(t, static.New()), Passes: []bench.Settings{s}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range result.Passes[0].Operations {
		if m.Failed > 0 || m.Count == 0 {
			t.Errorf("%+v", m)
		}
	}
	checkSizes(t, result.Passes[0])
}

// Only what was asked for is measured, and created is what it needs.
func TestOnly(t *testing.T) {
	result, err := bench.Run(t.Context(), bench.Options{Config: serveStatic(t, static.New()), Passes: []bench.Settings{small(bench.Flat)}, Only: []string{"get", "deletecollection"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range result.Passes[0].Operations {
		got = append(got, m.Name)
	}
	if diff := cmp.Diff([]string{"create", "get", "deletecollection"}, got); diff != "" {
		t.Error(diff)
	}
	if n := result.Passes[0].Operations[2].Count; n != 130 {
		t.Errorf("the collection had %d objects", n)
	}
}

// What a server refuses is counted, and the first refusal shown; what it can't do at all does not take the time of all.
func TestRefusals(t *testing.T) {
	ready := static.New()
	config := serveStatic(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			w.WriteHeader(http.StatusUnsupportedMediaType)
			_, _ = w.Write([]byte(`{"kind":"Status","message":"no patches here"}`))
			return
		}
		ready.ServeHTTP(w, r)
	}))
	var out bytes.Buffer
	s := small(bench.Flat)
	s.Duration = time.Hour
	result, err := bench.Run(t.Context(), bench.Options{Config: config, Passes: []bench.Settings{s}, Only: []string{"apply"}, Out: &out})
	if err != nil {
		t.Fatal(err)
	}
	m := result.Passes[0].Operations[1]
	if m.Count != 0 || m.Failed < 1 || !strings.Contains(m.Failure, "415 no patches here") || !strings.Contains(out.String(), m.Failure) {
		t.Errorf("%+v\n%s", m, out.String())
	}
}

func TestBadOptions(t *testing.T) {
	good := small(bench.Flat)
	for _, tt := range []struct {
		change func(*bench.Settings)
		only   string
		want   string
	}{
		{func(s *bench.Settings) { s.Objects = 0 }, "", "0 objects"},
		{func(s *bench.Settings) { s.Concurrency = 5000 }, "", "5000 requests at a time"},
		{func(s *bench.Settings) { s.Size = 10 }, "", "objects of 10 bytes"},
		{func(s *bench.Settings) { s.Shape = "round" }, "", `shape "round" is unknown`},
		{func(s *bench.Settings) { s.Shape, s.Size = bench.Nested, 400 }, "", "nested objects of 400 bytes"},
		{func(s *bench.Settings) { s.Watchers = 0 }, "", "0 watchers"},
		{func(s *bench.Settings) { s.Rate = 0 }, "", "0 writes a second"},
		{func(s *bench.Settings) { s.Rate = 2_000_000_000 }, "", "2000000000 writes a second"},
		{func(s *bench.Settings) { s.Duration = 0 }, "", "the duration"},
		{func(*bench.Settings) {}, "fly", `operation "fly" is unknown: there are create, get`},
	} {
		s := good
		tt.change(&s)
		o := bench.Options{Config: &rest.Config{Host: "https://127.0.0.1:1"}, Passes: []bench.Settings{s}}
		if tt.only != "" {
			o.Only = []string{tt.only}
		}
		if _, err := bench.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("want %s, got %v", tt.want, err)
		}
	}
}

func TestResults(t *testing.T) {
	dir := t.TempDir()
	pass := func(cpu, p50, perSecond float64) *bench.Result {
		s := bench.Settings{Objects: 5000, Size: 1500, Shape: bench.Flat, Concurrency: 16, Watchers: 50, Rate: 100, Duration: time.Second}
		return &bench.Result{Server: "v1.37.0", Passes: []bench.Pass{{Settings: s, Operations: []bench.Measurement{
			{Name: "get", Unit: "requests", Count: 12345, PerSecond: perSecond, P50Micros: p50, CPUMicros: cpu},
			{Name: "list", PerSecond: 9.876, P50Micros: 1_500_000}}}}}
	}
	first, second := pass(428, 1234, 4000), pass(107, 617, 16000.4)
	second.Passes[0].Duration = time.Minute
	for name, r := range map[string]*bench.Result{"first": first, "second": second} {
		if err := r.Write(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		read, err := bench.Read(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, read); diff != "" {
			t.Errorf("-written +read\n%s", diff)
		}
	}
	var out bytes.Buffer
	if err := bench.Compare(&out, first, second); err != nil {
		t.Fatal(err)
	}
	const want = `
5,000 flat objects of 1,500 bytes, 16 requests at a time, 50 watchers

operation                                 CPU each                               p50                          a second
get                        428 µs → 107 µs (×0.25)          1.23 ms → 617 µs (×0.50)            4,000 → 16,000 (×4.00)
list                                             –           1.50 s → 1.50 s (×1.00)               9.88 → 9.88 (×1.00)
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	second.Passes[0].Objects = 7
	if err := bench.Compare(&out, first, second); err == nil || !strings.Contains(err.Error(), "nothing to compare") {
		t.Errorf("of different settings: %v", err)
	}
}
