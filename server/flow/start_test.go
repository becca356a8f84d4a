package flow

import (
	"log/slog"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/admin"
)

// TestBeforeAnythingIsKnown: requests that come before the objects have been looked at share all seats, in one level where nobody waits,
// and administrators need none.
func TestBeforeAnythingIsKnown(t *testing.T) {
	const seats = 3
	c, err := New(Config{
		Seats: seats, Wait: time.Minute, Log: slog.New(slog.DiscardHandler),
		Kit: &work.Kit{Etcd: &admin.Live{}, Decoder: &admin.Decoder{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	serve := func(who user.Info, do func()) (entry Entry, admitted bool) {
		c.Serve(Request{HTTP: httptest.NewRequest("GET", "/version", nil), Info: &request.RequestInfo{Verb: "get", Path: "/version"}, User: who},
			func(e *Entry, ok bool) { entry, admitted = *e, ok }, func(*Seat) { do() })
		return entry, admitted
	}
	ann := &user.DefaultInfo{Name: "ann", Groups: []string{user.AllAuthenticated}}
	var running sync.WaitGroup
	inside, leave := make(chan struct{}, seats), make(chan struct{})
	for range seats {
		running.Go(func() {
			e, ok := serve(ann, func() {
				inside <- struct{}{}
				<-leave
			})
			if !ok || e.Level.Name != "catch-all" || e.Schema.Name != "catch-all" || e.Schema.UID != "" || e.Seats != 1 {
				t.Errorf("while there are seats: %v %+v", ok, e)
			}
		})
	}
	for range seats {
		<-inside
	}
	if e, ok := serve(ann, func() {}); ok || e.Level.Name != "catch-all" || e.Queues || e.RetryAfter < 1 {
		t.Errorf("without a seat: %v %+v", ok, e)
	}
	boss := &user.DefaultInfo{Name: "boss", Groups: slices.Concat(ann.Groups, []string{user.SystemPrivilegedGroup})}
	if e, ok := serve(boss, func() {}); !ok || !e.Exempt || e.Level.Name != "exempt" {
		t.Errorf("an administrator: %v %+v", ok, e)
	}
	close(leave)
	running.Wait()
}
