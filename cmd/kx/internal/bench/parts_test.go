package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestTemplate(t *testing.T) {
	for _, shape := range []string{Flat, Nested} {
		for _, size := range []int{1200, 1500, 50_000} {
			tm := newTemplate("a.example.com/v1", shape, size)
			body := tm.write(nil, 1234567, 87654321)
			var object struct {
				Metadata struct {
					Name   string
					Labels map[string]string
				}
				Spec map[string]any
			}
			if err := json.Unmarshal(body, &object); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			if object.Metadata.Name != nameOf(1234567) || object.Metadata.Labels["group"] != groupOf(1234567) || object.Spec["round"] != "87654321" {
				t.Errorf("%+v", object)
			}
			if len(body) > size || len(body) < size-40 {
				t.Errorf("%s of %d bytes has %d", shape, size, len(body))
			}
			if !setRound(body, 3) || !strings.Contains(string(body), `"round":"00000003"`) {
				t.Errorf("%s", body)
			}
		}
	}
	if setRound([]byte(`{"round":"1`), 2) {
		t.Error("an object that is cut off has no round")
	}
}

func TestHistogram(t *testing.T) {
	var a, b histogram
	for i := 1; i <= 1000; i++ {
		h := &a
		if i%2 == 0 {
			h = &b
		}
		h.add(time.Duration(i) * time.Millisecond)
	}
	a.merge(&b)
	for q, want := range map[float64]time.Duration{0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond, 1: time.Second} {
		if got := a.quantile(q); got < want*97/100 || got > want*103/100 {
			t.Errorf("quantile %v is %s, want %s", q, got, want)
		}
	}
	var none histogram
	none.add(0)
	if got := none.quantile(0.5); got != 0 {
		t.Errorf("of nothing: %s", got)
	}
	if a.n != 1000 || a.max != time.Second {
		t.Errorf("%d, at most %s", a.n, a.max)
	}
}

// Events are found however the stream is cut into pieces.
func TestWatcher(t *testing.T) {
	var stream strings.Builder
	const events = 20
	for i := range events {
		fmt.Fprintf(&stream, `{"type":"MODIFIED","object":{"managedFields":[{"f:sent":{}}],"spec":{"sent":"%0*d","text":"\"sent\":"}}}`+"\n", sentDigits, i)
	}
	for _, most := range []int{1, 2, 7, 30, 5000} {
		w := &watcher{seen: new(atomic.Int64)}
		for rest := stream.String(); rest != ""; {
			n := min(1+rand.IntN(most), len(rest))
			w.write([]byte(rest[:n]))
			rest = rest[n:]
		}
		if w.own.Load() != events || w.seen.Load() != events-1 || w.took.n != events-1 {
			t.Errorf("in pieces of %d: %d events, %d of them measured, %d seen", most, w.own.Load(), w.took.n, w.seen.Load())
		}
	}
}

// A list's metadata may be in front or behind.
func TestContinue(t *testing.T) {
	items := strings.Repeat(`{"spec":{"text":"x"}},`, 1000) + "{}"
	for _, list := range []string{
		`{"metadata":{"continue":"abc","resourceVersion":"1"},"items":[` + items + `]}`,
		`{"items":[` + items + `],"metadata":{"continue":"abc","resourceVersion":"1"}}`,
	} {
		for _, piece := range []int{1, 100, 100_000} {
			var e ends
			for rest := list; rest != ""; {
				n := min(piece, len(rest))
				e.write([]byte(rest[:n]))
				rest = rest[n:]
			}
			if got := e.token(); got != "abc" {
				t.Errorf("in pieces of %d: %q", piece, got)
			}
		}
	}
	var e ends
	e.write([]byte(`{"items":[],"metadata":{"continue":""}}`))
	if got := e.token(); got != "" {
		t.Errorf("the last page: %q", got)
	}
}

// Each worker has objects of its own, and together they have all that are left.
func TestOwnObjects(t *testing.T) {
	const all, left, workers = 103, 41, 7
	owner := map[int]int{}
	for nth := range workers {
		w := &worker{nth: nth, of: workers}
		for random := range int64(1000) {
			n := w.object(random, left, all)
			if other, ok := owner[n]; ok && other != nth {
				t.Fatalf("object %d is of %d and %d", n, other, nth)
			}
			owner[n] = nth
		}
	}
	for n := range all {
		if _, ok := owner[n]; ok != (n >= all-left) {
			t.Errorf("object %d is somebody's: %v", n, ok)
		}
	}
}

func TestSampler(t *testing.T) {
	proc := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(proc, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := newSampler(proc, []int{7}); err == nil || !strings.Contains(err.Error(), "this system does not have") {
		t.Errorf("without it: %v", err)
	}
	write("self/stat", "")
	if _, err := newSampler(proc, []int{7}); err == nil || !strings.Contains(err.Error(), "process 7") {
		t.Errorf("of a process that is not there: %v", err)
	}
	write("7/stat", "7 (a) (b c) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 9 0 1 1 1")
	write("7/status", "Name:\ta\nVmRSS:\t    2048 kB\nThreads:\t9\n")
	write("8/stat", "8 (etcd) S 1 8 8 0 -1 4194560 1 2 3 4 1 0 0 0 20 0 9 0 1 1 1")
	write("8/status", "Name:\tetcd\n")
	s, err := newSampler(proc, []int{7, 8})
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.now()
	if err != nil || now.cpu != 2010*time.Millisecond || now.resident != 2<<20 {
		t.Errorf("%+v, %v", now, err)
	}
	if none, err := newSampler("/does/not/exist", nil); err != nil {
		t.Errorf("where nobody asks: %v", err)
	} else if now, err := none.now(); err != nil || now != (sample{}) {
		t.Errorf("where nobody asks: %+v, %v", now, err)
	}
}

func newTestClient(t *testing.T, http2 bool, h http.HandlerFunc, edit func(*rest.Config)) *client {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = http2
	s.StartTLS()
	t.Cleanup(s.Close)
	config := &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	if edit != nil {
		edit(config)
	}
	c, err := newClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// Bodies larger than any window arrive whole, both ways, many at a time; credentials go with each request.
func TestLargeBodies(t *testing.T) {
	const size = 3 << 20
	c := newTestClient(t, true, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != "/prefix/echo" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		buffer, sum := make([]byte, 32<<10), 0
		for {
			n, err := r.Body.Read(buffer)
			sum += n
			_, _ = w.Write(buffer[:n])
			if err != nil {
				break
			}
		}
		if sum != size {
			panic(http.ErrAbortHandler)
		}
	}, func(config *rest.Config) {
		config.BearerToken = "secret"
		config.Host += "/prefix/"
	})
	body := []byte(strings.Repeat("x", size))
	errs := make(chan error)
	for nth := range 12 {
		go func() {
			a, err := c.send(t.Context(), nth, &request{method: http.MethodPost, path: "/echo", body: body})
			if err == nil && a.bytes != size {
				err = fmt.Errorf("%d bytes came back", a.bytes)
			}
			errs <- err
		}()
	}
	for range 12 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// A connection that ends fails what is under way, and the next request makes another.
func TestConnectionEnds(t *testing.T) {
	began := make(chan struct{})
	c := newTestClient(t, true, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			close(began)
			<-r.Context().Done()
		}
	}, nil)
	ended := make(chan error)
	go func() {
		_, err := c.send(t.Context(), 0, get("/wait"))
		ended <- err
	}()
	<-began
	_ = c.conns[0].net.Close()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "the connection ended") {
		t.Errorf("what was under way: %v", err)
	}
	if a, err := c.send(t.Context(), 0, get("/")); err != nil || a.code != http.StatusOK {
		t.Errorf("the next: %d, %v", a.code, err)
	}
}

// A server that says goodbye ends what it has taken and gets no more, and nobody notices.
func TestGoAway(t *testing.T) {
	answered := atomic.Int32{}
	c := newTestClient(t, true, func(w http.ResponseWriter, r *http.Request) {
		if answered.Add(1)%3 == 0 {
			w.Header().Set("Connection", "close") // GOAWAY, in HTTP/2
		}
	}, nil)
	for range 30 {
		if a, err := c.send(t.Context(), 0, get("/")); err != nil || a.code != http.StatusOK {
			t.Fatalf("%d, %v", a.code, err)
		}
	}
}

func TestOtherProtocols(t *testing.T) {
	c := newTestClient(t, false, func(http.ResponseWriter, *http.Request) {}, nil)
	if _, err := c.send(t.Context(), 0, get("/")); err == nil || !strings.Contains(err.Error(), "does not speak HTTP/2") {
		t.Errorf("a server without HTTP/2: %v", err)
	}
	if _, err := newClient(&rest.Config{Host: "http://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("a server without TLS: %v", err)
	}
}
