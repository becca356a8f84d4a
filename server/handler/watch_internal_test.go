package handler

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
)

func TestWatchTimeout(t *testing.T) {
	seconds := func(n int64) *metainternalversion.ListOptions {
		return &metainternalversion.ListOptions{TimeoutSeconds: &n}
	}
	if got := watchTimeout(seconds(7), time.Hour); got != 7*time.Second {
		t.Errorf("the client's timeout of 7s became %s", got)
	}
	for _, n := range []int64{-1, math.MaxInt64} {
		if got := watchTimeout(seconds(n), time.Hour); got >= 0 {
			t.Errorf("the client's timeout of %ds became %s", n, got)
		}
	}
	if got := watchTimeout(&metainternalversion.ListOptions{}, 0); got != 0 {
		t.Errorf("no timeout became %s", got)
	}
	different := map[time.Duration]bool{}
	for range 100 {
		for _, options := range []*metainternalversion.ListOptions{{}, seconds(0)} {
			got := watchTimeout(options, time.Hour)
			if got < time.Hour || got >= 2*time.Hour {
				t.Fatalf("a default of an hour became %s", got)
			}
			different[got] = true
		}
	}
	if len(different) < 2 {
		t.Error("all watches have the same timeout")
	}
}

// TestStuckClient: a client that never reads loses its watch, though its connection stays open.
func TestStuckClient(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		ended := make(chan error, 1)
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			stream := newHTTPStream(w, watchFormatFor("application/json"), false)
			stream.timer.timeout = 50 * time.Millisecond
			err := stream.begin()
			for err == nil {
				b := newWatchBuffers()
				b.out.Write(make([]byte, 1<<20))
				err = stream.flush(b)
				b.release()
			}
			ended <- err
		}))
		server.EnableHTTP2 = http2
		server.StartTLS()
		res, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{false: 1, true: 2}[http2]; res.ProtoMajor != want {
			t.Errorf("HTTP/%d", res.ProtoMajor)
		}
		if err := <-ended; err == nil {
			t.Error("the stream ended without an error")
		}
		if _, err := io.Copy(io.Discard, res.Body); err == nil {
			t.Error("the client was not told that the stream is incomplete")
		}
		res.Body.Close()
		server.Close()
	}
}

// lateWriter takes until a deadline is set, and notes whether its handler returns meanwhile: then a writer of HTTP/2 panics.
type lateWriter struct {
	*httptest.ResponseRecorder
	setting chan struct{}
	ended   atomic.Bool
	late    chan bool
}

func (w *lateWriter) Write(p []byte) (int, error) {
	<-w.setting
	return len(p), nil
}

func (w *lateWriter) SetWriteDeadline(time.Time) error {
	close(w.setting)
	for range 1000 {
		runtime.Gosched()
	}
	w.late <- w.ended.Load()
	return nil
}

// TestStuckTooLate: a handler does not return while the timer of its last write uses its writer.
func TestStuckTooLate(t *testing.T) {
	for range 20 {
		w := &lateWriter{ResponseRecorder: httptest.NewRecorder(), setting: make(chan struct{}), late: make(chan bool, 1)}
		stream := newHTTPStream(w, watchFormatFor("application/json"), false)
		stream.timer.timeout = time.Nanosecond
		b := newWatchBuffers()
		b.out.WriteString("event")
		if err := stream.flush(b); err != nil {
			t.Fatal(err)
		}
		b.release()
		w.ended.Store(true)
		if <-w.late {
			t.Fatal("the handler returned while a deadline was set")
		}
	}
}
