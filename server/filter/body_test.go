package filter

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/metrics"
)

// slowly reads a body of which half has come, until its seat is free. The test has that then.
func slowly(t *testing.T, ctx context.Context, done func(text string, err error)) (free seats, rest *io.PipeWriter, in *bodies, wait func()) {
	t.Helper()
	free, in = newSeats(1), &bodies{metrics: metrics.New(), users: map[string]bodyMemory{}}
	free <- struct{}{}
	half, rest := io.Pipe()
	sent := httptest.NewRequest("POST", "/", half)
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: "ann"})
	r, b := in.watch(ctx, httptest.NewRecorder(), sent, metrics.Mutating, &seat{free: free, taken: true})
	if _, limited := sent.Body.(*body); limited {
		t.Error("the server's own request has another body")
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		text, err := io.ReadAll(r.Body)
		done(string(text), err)
		b.end()
		b.seat.Pause()
	}()
	if _, err := io.WriteString(rest, "half"); err != nil {
		t.Fatal(err)
	}
	free <- struct{}{}
	return free, rest, in, func() { <-ended }
}

func TestSlowBodyWaitsForASeat(t *testing.T) {
	var left atomic.Bool
	free, rest, in, wait := slowly(t, t.Context(), func(text string, err error) {
		if text != "half and half" || err != nil || !left.Load() {
			t.Errorf("read %q, %v; the seat was free: %v", text, err, left.Load())
		}
	})
	if held := in.users["ann"]; held != (bodyMemory{bytes: 4, slowBytes: 4, slow: 1}) {
		t.Errorf("a slow body holds %+v", held)
	}
	if _, err := io.WriteString(rest, " and half"); err != nil {
		t.Fatal(err)
	}
	rest.Close()
	left.Store(true)
	<-free
	wait()
	if len(free) > 0 || in.all != (bodyMemory{}) || len(in.users) > 0 {
		t.Errorf("in the end %d seats are taken, and %+v is held by %v", len(free), in.all, in.users)
	}
}

func TestSlowBodyFindsNoSeat(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	free, rest, in, wait := slowly(t, ctx, func(_ string, err error) {
		if !apierrors.IsTooManyRequests(err) {
			t.Errorf("without a seat: %v", err)
		}
	})
	rest.Close()
	cancel()
	wait()
	if len(free) != 1 || in.all != (bodyMemory{}) {
		t.Errorf("in the end %d seats are taken, and %+v is held", len(free), in.all)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	slow := bodyMemory{slow: 1, slowBytes: 1 << 20, bytes: 1 << 20}
	fast := bodyMemory{bytes: 1 << 20}
	for _, tc := range []struct {
		what  string
		user  func(i int) string
		admin bool
		each  bodyMemory
		want  int
	}{
		{"one user's", func(int) string { return "ann" }, false, fast, 64},
		{"one user's slow", func(int) string { return "ann" }, false, slow, 32},
		{"one user's slow and small", func(int) string { return "ann" }, false, bodyMemory{slow: 1}, 100},
		{"one administrator's", func(int) string { return "root" }, true, fast, 64},
		{"all", func(i int) string { return string(rune('a' + i%20)) }, false, fast, 256},
		{"all slow", func(i int) string { return string(rune('a' + i%20)) }, false, slow, 128},
		{"all slow and small", func(i int) string { return string(rune('a' + i%20)) }, false, bodyMemory{slow: 1}, 200},
		{"administrators'", func(i int) string { return string(rune('a' + i%20)) }, true, fast, 400},
	} {
		in := &bodies{metrics: metrics.New(), users: map[string]bodyMemory{}}
		got := 0
		for i := range 400 {
			if in.take(tc.user(i), tc.admin, tc.each) {
				got++
			}
		}
		if got != tc.want {
			t.Errorf("%s: %d were taken, want %d", tc.what, got, tc.want)
		}
	}
}

// TestBodyReadAfterItsRequest reads a body as a proxy does whose server answered before it had the whole.
func TestBodyReadAfterItsRequest(t *testing.T) {
	in := &bodies{metrics: metrics.New(), users: map[string]bodyMemory{}}
	sent := httptest.NewRequest("POST", "/", strings.NewReader("late"))
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "ann"})
	r, b := in.watch(ctx, httptest.NewRecorder(), sent, metrics.Mutating, nil)
	b.end()
	if text, err := io.ReadAll(r.Body); string(text) != "late" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if len(in.users) != 0 || b.timer != nil {
		t.Errorf("a body of no request is watched: %v", in.users)
	}
}
