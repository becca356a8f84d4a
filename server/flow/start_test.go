package flow

import (
	"slices"
	"sync"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
)

// TestBeforeAnythingIsKnown: requests that come before the objects have been looked at share all seats, in one level where nobody waits,
// and administrators need none.
func TestBeforeAnythingIsKnown(t *testing.T) {
	const seats = 3
	c := control(t, seats)
	serve := func(who user.Info, do func()) (entry Entry, admitted bool) {
		entry, seat := c.Take(asks(who.GetName(), who.GetGroups()...))
		if seat == nil {
			return entry, false
		}
		defer seat.Pause()
		do()
		return entry, true
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
