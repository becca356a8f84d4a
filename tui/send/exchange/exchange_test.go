package exchange

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is a client of a server that answers with a handler.
func client(t *testing.T, handler http.HandlerFunc) *api.Client {
	t.Helper()
	s := httptest.NewServer(handler)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.CloseClientConnections()
		s.Close()
	})
	c, err := api.New(&rest.Config{Host: s.URL, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(path string) request.HTTP { return request.HTTP{Method: "GET", Path: path} }

// TestBounds keeps of a long answer, and of many events, what there is room for, and counts the rest.
func TestBounds(t *testing.T) {
	const more, events = bodyBytesMost + 12345, eventsMost + 7
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(JourneyHeader, "j")
		if r.URL.Query().Get("watch") == "true" {
			for i := range events {
				fmt.Fprintf(w, `{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p%d"}}}`+"\n", i)
			}
			fmt.Fprintln(w, `{"type":"ERROR","object":{"kind":"Status","message":"too old"}}`)
			return
		}
		if r.Header.Get("Kx-Trace") != "objects" {
			t.Errorf("headers: %v", r.Header)
		}
		fmt.Fprint(w, strings.Repeat("x", more))
	})
	e := Start(t.Context(), c, get("/x"), Options{}, time.Now, func() {})
	e.Wait()
	if a := e.Answer(); a.Err != nil || a.Code != 200 || a.Bytes != more || len(a.Body) != bodyBytesMost || a.Journey != "j" || !a.Ended {
		t.Errorf("%d bytes, %d kept, %v", a.Bytes, len(a.Body), a.Err)
	}
	h := get("/x")
	h.Query = url.Values{"watch": {"true"}}
	e = Start(t.Context(), c, h, Options{}, time.Now, func() {})
	e.Wait()
	a := e.Answer()
	last := a.Events[len(a.Events)-1]
	if a.Err != nil || len(a.Events) != eventsMost || a.EventsDropped != events+1-eventsMost || last.Type != "ERROR" || last.Name != "too old" || a.Events[0].Name != "p8" {
		t.Errorf("%d events, %d dropped, %v, the first %+v, the last %+v", len(a.Events), a.EventsDropped, a.Err, a.Events[0], last)
	}
}

// TestStop gives up a request that is not answered, and one that can't be sent.
func TestStop(t *testing.T) {
	reached := make(chan struct{})
	c := client(t, func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	})
	e := Start(t.Context(), c, get("/x"), Options{}, time.Now, func() {})
	<-reached
	e.Stop()
	e.Wait()
	if a := e.Answer(); a.Err != errStopped || a.Code != 0 {
		t.Errorf("%+v", a)
	}
	gone, err := api.New(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	e = Start(t.Context(), gone, get("/x"), Options{}, time.Now, func() {})
	e.Wait()
	if a := e.Answer(); a.Err == nil || a.Err == errStopped {
		t.Errorf("%+v", a)
	}
}

// TestRefused does not send what can't be held.
func TestRefused(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != api.KX+"/breakpoints" {
			t.Errorf("%s %s was sent", r.Method, r.URL)
		}
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","message":"breakpoints.kx.dev \"x\" is forbidden: not on this server","code":403}`)
	})
	_, _, err := Do(context.Background(), c, get("/x"), Options{Held: true})
	if err == nil || err.Error() != "it was not sent, since it could not be held: not on this server" {
		t.Errorf("%v", err)
	}
}
