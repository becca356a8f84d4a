package aggregator_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// TestReset: a message that has the port of a connection would be another one after each check.
func TestReset(t *testing.T) {
	t.Parallel()
	s := create(t, serve(t), "reset", conditions)
	s.serve(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			err = connection.(*tls.Conn).NetConn().(*net.TCPConn).SetLinger(0)
		}
		if err == nil {
			err = connection.(*tls.Conn).NetConn().Close()
		}
		if err != nil && !errors.Is(err, net.ErrClosed) { // the check may have given up
			t.Error(err)
		}
	}, nil)
	s.AwaitPart("connection reset by peer")
	for _, line := range conditions(s.Stage) {
		if strings.Contains(line, "->") {
			t.Errorf("it names the local address: %s", line)
		}
	}
}

// TestPauses: checks of a server whose message is another one each time are as far apart as those of one that always has the same.
func TestPauses(t *testing.T) {
	t.Parallel()
	const asks = 10 // those of two checks
	var steady, restless atomic.Int32
	refuse := func(asked *atomic.Int32, code func(n int) int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code(int(asked.Add(1)))) }
	}
	s := create(t, serve(t), "steady", func(*controllertest.Stage) []string {
		return []string{fmt.Sprint("both: ", min(steady.Load(), restless.Load()) >= asks), fmt.Sprint("steady: ", steady.Load() >= asks)}
	})
	other := create(t, serve(t), "restless", nil)
	s.serve(refuse(&steady, func(int) int { return http.StatusInternalServerError }), nil)
	other.serve(refuse(&restless, func(n int) int { return http.StatusInternalServerError + n%90 }), nil)
	s.AwaitPart("both: true")
	steady.Store(0) // what came before is no measure: changes of the services start checks too
	restless.Store(0)
	s.AwaitPart("steady: true")
	if n, m := restless.Load(), steady.Load(); n > 4*m {
		t.Errorf("it is asked %d times, and the other one %d times", n, m)
	}
}

// TestSlow: while a server takes its time to say what it has, others become known and are checked, and it can be forgotten.
func TestSlow(t *testing.T) {
	t.Parallel()
	clients := serve(t)
	var asked, over, deleted, late atomic.Bool
	slow := create(t, clients, "slow", func(s *controllertest.Stage) []string {
		err := s.RESTClient().Get().AbsPath("/apis/slow.example.com/v1").Do(s.T.Context()).Error()
		return []string{fmt.Sprint("asked: ", asked.Load()), fmt.Sprint("forgotten: ", apierrors.IsNotFound(err))}
	})
	quick := create(t, clients, "quick", conditions)
	slow.serve(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/apis/slow.example.com/v1":
			fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"slow.example.com/v1","resources":[]}`)
		case "/openapi/v3":
			late.Store(deleted.Load())
			fmt.Fprint(w, `{"paths":{"apis/slow.example.com/v1":{"serverRelativeURL":"/last"}}}`)
		case "/apis": // this and the last take as long as they are waited for
			asked.Store(true)
			<-r.Context().Done()
		case "/last":
			<-r.Context().Done()
			over.Store(true)
		}
	}, nil)
	slow.AwaitPart("asked: true")
	quick.serve(quick.answers(true), nil)
	quick.AwaitPart("condition Available True Passed")
	if over.Load() {
		t.Error("a new server is checked when the slow one has been")
	}
	deleted.Store(true)
	if err := clients.RESTClient().Delete().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices/v1.slow.example.com").Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	slow.AwaitPart("forgotten: true")
	if late.Load() {
		t.Error("its check goes on when it is deleted")
	}
}
