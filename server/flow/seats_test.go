package flow

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"testing"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/admin"
)

// control returns a control that follows no etcd.
func control(t testing.TB, seats int) *Control {
	t.Helper()
	c, err := New(Config{
		Seats: seats, Wait: time.Minute, Log: slog.New(slog.DiscardHandler),
		Kit: &work.Kit{Etcd: &admin.Live{}, Decoder: &admin.Decoder{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// levelsOf returns the mandatory levels and others, with their defaults.
func levelsOf(t testing.TB, others ...*flowcontrolv1.PriorityLevelConfiguration) (all []*flowcontrolv1.PriorityLevelConfiguration) {
	t.Helper()
	for _, l := range slices.Concat(bootstrap.MandatoryPriorityLevelConfigurations, others) {
		l = l.DeepCopy()
		scheme.Scheme.Default(l)
		all = append(all, l)
	}
	return all
}

// levelOf returns a level that has shares, and lends a part of its seats.
func levelOf(name string, shares, lends int32) *flowcontrolv1.PriorityLevelConfiguration {
	return &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
		Type: flowcontrolv1.PriorityLevelEnablementLimited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
			NominalConcurrencyShares: &shares, LendablePercent: &lends,
			LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
		},
	}}
}

// toLevel returns a schema that leads the requests of a user to a level.
func toLevel(level, user string) *flowcontrolv1.FlowSchema {
	s := schemaOf("to-"+level, 100, flowcontrolv1.PolicyRulesWithSubjects{
		Subjects:         []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: user}}},
		NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}},
	})
	s.Spec.PriorityLevelConfiguration.Name = level
	return s
}

func asks(name string, groups ...string) Request {
	return Request{
		Context: context.Background(), URL: &url.URL{}, Info: &request.RequestInfo{Verb: "get", Path: "/version"},
		User: &user.DefaultInfo{Name: name, Groups: groups},
	}
}

// TestLending: a busy level borrows the seats that an idle one lends, never those that it keeps, and gives them back when
// they are needed. What exempt requests take can't be lent.
func TestLending(t *testing.T) {
	c := control(t, 105)
	c.configure(levelsOf(t, levelOf("busy", 50, 0), levelOf("idle", 50, 50)), []*flowcontrolv1.FlowSchema{toLevel("busy", "ann"), toLevel("idle", "eve")})
	busy, idle := c.levels["busy"], c.levels["idle"]
	if busy.nominal != 50 || busy.least != 50 || idle.nominal != 50 || idle.least != 25 || c.levels["catch-all"].nominal != 5 {
		t.Fatalf("busy has %d, at least %d; idle has %d, at least %d", busy.nominal, busy.least, idle.nominal, idle.least)
	}
	if sum := busy.current + idle.current + c.levels["catch-all"].current; sum < 103 || sum > 107 { // each is rounded
		t.Errorf("%d seats in all", sum)
	}
	take := func(r Request) (seats []*Seat) {
		for len(seats) < 200 {
			_, seat := c.Take(r)
			if seat == nil {
				break
			}
			seats = append(seats, seat)
		}
		return seats
	}
	leave := func(seats []*Seat) {
		for _, s := range seats {
			s.Pause()
		}
	}
	had := busy.current
	taken := take(asks("ann"))
	if len(taken) != had {
		t.Errorf("%d seats could be taken of %d", len(taken), had)
	}
	c.lend()
	more := take(asks("ann"))
	if idle.current < 25 || busy.current < had || len(taken)+len(more) != busy.current {
		t.Errorf("then busy has %d, %d of them taken, and idle %d", busy.current, len(taken)+len(more), idle.current)
	}
	lent := idle.current
	leave(slices.Concat(taken, more))
	c.lend()             // both were busy since the last look
	busy.need.smooth = 0 // it depends on the speed of the machine
	c.lend()
	taken = take(asks("eve"))
	c.lend()
	if idle.current <= lent {
		t.Errorf("idle had %d, is busy now, and has %d", lent, idle.current)
	}
	exempt := take(asks("boss", user.SystemPrivilegedGroup))
	c.lend()
	if len(exempt) != 200 || c.levels["exempt"].current != 200 || busy.current != 50 || idle.current != 25 {
		t.Errorf("exempt requests have %d of %d seats, busy %d and idle %d", c.levels["exempt"].current, len(exempt), busy.current, idle.current)
	}
	leave(slices.Concat(exempt, taken))
}

// TestRemovedLevel: a level without an object stays while it has requests, and an invalid one counts as missing.
func TestRemovedLevel(t *testing.T) {
	c := control(t, 20)
	schemas := []*flowcontrolv1.FlowSchema{toLevel("gone", "ann")}
	missing := func(wanted []condition) bool {
		return len(wanted) == 1 && wanted[0].status == flowcontrolv1.ConditionTrue
	}
	if wanted := c.configure(levelsOf(t), schemas); !missing(wanted) {
		t.Errorf("without its level: %+v", wanted)
	}
	wanted := c.configure(levelsOf(t, levelOf("gone", 5, 0)), schemas)
	if len(wanted) != 1 || wanted[0].status != flowcontrolv1.ConditionFalse {
		t.Errorf("with its level: %+v", wanted)
	}
	e, seat := c.Take(asks("ann"))
	if seat == nil || e.Level.Name != "gone" {
		t.Fatalf("%+v", e)
	}
	invalid := levelOf("gone", 5, 0)
	invalid.Spec.Limited.LimitResponse.Type = flowcontrolv1.LimitResponseTypeQueue
	if wanted := c.configure(levelsOf(t, invalid), schemas); !missing(wanted) {
		t.Errorf("with an invalid level: %+v", wanted)
	}
	if l := c.levels["gone"]; l == nil || !l.removed.Load() {
		t.Error("it has a request, and is gone")
	}
	if e, other := c.Take(asks("ann")); e.Level.Name != "catch-all" || other == nil {
		t.Errorf("the next request: %+v", e)
	} else {
		other.Pause()
	}
	seat.Pause()
	select {
	case <-c.changed:
	default:
		t.Error("nothing is to be done after its last request")
	}
	c.configure(levelsOf(t), schemas)
	if c.levels["gone"] != nil {
		t.Error("it is still there")
	}
}

// TestRetryAfter: the time doubles while more are refused than can come back in it, and gets shorter by and by.
func TestRetryAfter(t *testing.T) {
	var r refusals
	now := int64(1_000_000)
	if got := r.add("a", now); got != 1 {
		t.Errorf("the first is told %d", got)
	}
	for range 100 {
		for range 200 {
			r.add("a", now)
		}
		now++
	}
	if got := r.add("a", now); got != longestRetry {
		t.Errorf("after a flood: %d", got)
	}
	if got := r.add("b", now); got != 1 {
		t.Errorf("another level: %d", got)
	}
	now += 1000
	for want := int64(longestRetry - 1); want >= 1; want-- {
		if got := r.add("a", now); got != want {
			t.Fatalf("long after the flood: %d, not %d", got, want)
		}
		now += 40
	}
}
