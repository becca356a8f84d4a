package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
)

// patience is how long a test waits for what must happen.
const patience = 3 * time.Minute

func journey(name string) *v1alpha1.Journey {
	return &v1alpha1.Journey{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.JourneySpec{Verb: "get", Resource: "configmaps", Name: name},
		Status:     v1alpha1.JourneyStatus{Phase: v1alpha1.JourneyComplete, Code: 200},
	}
}

func of(t *testing.T, config *rest.Config) *Session {
	t.Helper()
	s, err := New(config, trace.Catalogue{}, 100, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func start(t *testing.T, s *tuitest.Server) (*Session, *Ring) {
	t.Helper()
	session := of(t, s.Config)
	t.Cleanup(session.Close)
	return session, NewRing(100)
}

// until drains the session until the ring is as it should be.
func until(t *testing.T, s *Session, r *Ring, what string, yes func(State) bool) {
	t.Helper()
	deadline := time.After(patience)
	var state State
	for {
		select {
		case <-s.Changed():
			b := s.Drain()
			r.Apply(b)
			state = b.State
			if yes(state) {
				return
			}
		case <-deadline:
			t.Fatalf("it did not come to pass that %s: %s, %+v", what, rows(r), state)
		}
	}
}

func rows(r *Ring) string {
	var names []string
	for i := range r.Len() {
		name := r.At(i).Name
		if r.At(i).Gone {
			name += "(gone)"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func has(r *Ring, want string) func(State) bool {
	return func(s State) bool { return rows(r) == want && s.Phase == Live }
}

func TestFollow(t *testing.T) {
	server := tuitest.New(t)
	server.Put(journey("a"), journey("b"))
	s, ring := start(t, server)
	s.Follow("")
	until(t, s, ring, "the list is there", has(ring, "a b"))
	server.Put(journey("c"))
	until(t, s, ring, "a new one came", has(ring, "a b c"))
	server.Forget("a")
	until(t, s, ring, "one is forgotten", has(ring, "a(gone) b c"))
	server.LeaveOut(7)
	until(t, s, ring, "some are left out", func(State) bool { return ring.LeftOut == 7 })
	server.EndWatches()
	server.Put(journey("d"))
	until(t, s, ring, "the watch goes on after its end", has(ring, "a(gone) b c d"))
	server.Forget("b")
	server.Expire()
	server.Put(journey("e"))
	until(t, s, ring, "the list is read again", has(ring, "a(gone) b(gone) c d e"))
}

func TestFilter(t *testing.T) {
	server := tuitest.New(t)
	failed := journey("b")
	failed.Status.Code = 404
	server.Put(journey("a"), failed)
	s, ring := start(t, server)
	s.Follow("code:404")
	until(t, s, ring, "the filtered list is there", has(ring, "b"))
	server.Put(journey("c"))
	failed.Name = "d"
	server.Put(failed)
	until(t, s, ring, "what is wanted came", has(ring, "b d"))
	server.Forget("b")
	until(t, s, ring, "what is no longer listed goes", has(ring, "d"))
	s.Follow("")
	until(t, s, ring, "all are there", has(ring, "a c d"))
	s.Follow("code:")
	until(t, s, ring, "the server's word on the filter is heard", func(st State) bool {
		return st.Phase == Retrying && strings.Contains(st.Reason, "column 6")
	})
}

func TestTroubles(t *testing.T) {
	server := tuitest.New(t)
	server.Put(journey("a"))
	server.Refuse(http.StatusServiceUnavailable)
	s, ring := start(t, server)
	s.Follow("")
	until(t, s, ring, "it says that there is no answer", func(st State) bool {
		return st.Phase == Retrying && strings.Contains(st.Reason, "503")
	})
	server.Refuse(0)
	until(t, s, ring, "it goes on by itself", has(ring, "a"))
	server.Refuse(http.StatusNotFound)
	until(t, s, ring, "it says that this is no kx", func(st State) bool {
		return st.Phase == Retrying && strings.Contains(st.Reason, "isn't a kx") && ring.Len() == 1
	})
}

// TestForeign: a server that never was a kx is asked once.
func TestForeign(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.NotFound(w, r)
	}))
	defer server.Close()
	s, err := New(&rest.Config{Host: server.URL}, trace.Catalogue{}, 10, func() {})
	if err != nil {
		t.Fatal(err)
	}
	s.Follow("")
	until(t, s, NewRing(10), "it says that this is no kx", func(st State) bool {
		return st.Phase == Foreign && strings.Contains(st.Reason, "isn't a kx")
	})
	s.Close()
	if n := asked.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

func TestGet(t *testing.T) {
	server := tuitest.New(t)
	hostile := journey("a")
	hostile.Spec.UserAgent, hostile.Spec.User = "\x1b]0;owned\x07", escapetest.Any()
	hostile.Status.Steps = []v1alpha1.Step{{ID: "x", Parent: 3, Why: "a\nb"}, {ID: "y", Parent: 0}}
	hostile.Status.Held = []v1alpha1.HeldStep{{Step: -1}, {Step: 1}}
	server.Put(hostile)
	s, _ := start(t, server)
	ctx := context.Background()
	j, err := s.Get(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if steps := j.Status.Steps; escapetest.Find(j.Spec.User, "") != "" || j.Spec.UserAgent != "\uFFFD]0;owned\uFFFD" || steps[0].Why != "a b" || steps[0].Parent != -1 || steps[1].Parent != 0 {
		t.Errorf("%+v", j)
	}
	if held := j.Status.Held; len(held) != 1 || held[0].Step != 1 {
		t.Errorf("held at %+v", held)
	}
	if _, err := s.Get(ctx, "gone"); !errors.Is(err, ErrForgotten) {
		t.Errorf("one that is not there: %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Get(canceled, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestHostileError has a server that answers with an escape code.
func TestHostileError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, escapetest.Any(), http.StatusInternalServerError)
	}))
	defer server.Close()
	s := of(t, &rest.Config{Host: server.URL})
	defer s.Close()
	if _, err := s.Get(context.Background(), "a"); err == nil || escapetest.Find(err.Error(), "") != "" || !strings.Contains(err.Error(), "500") {
		t.Errorf("%q", err)
	}
}

func TestInboxIsBounded(t *testing.T) {
	b := newInbox(3, func() {})
	g := b.begin()
	for i := range 5 {
		b.leave(g, func(batch *Batch) {
			batch.changes = append(batch.changes, change{journey: journey(fmt.Sprint(i))})
		})
	}
	ring := NewRing(10)
	ring.Apply(b.drain())
	old := g
	g = b.begin()
	b.leave(old, func(batch *Batch) { batch.State.Reason = "of an earlier filter" })
	if rows(ring) != "2 3 4" || ring.Dropped != 2 {
		t.Errorf("%s, %d dropped", rows(ring), ring.Dropped)
	}
	b.leave(g, func(batch *Batch) { batch.State.Phase = Live })
	if got := b.drain(); got.State.Reason != "" || got.State.Phase != Live || len(got.changes) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestCloseEndsAll(t *testing.T) {
	server := tuitest.New(t)
	leaks := goleak.IgnoreCurrent()
	s := of(t, server.Config)
	ring := NewRing(100)
	s.Follow("")
	server.Put(journey("a"))
	until(t, s, ring, "it follows", has(ring, "a"))
	s.Follow("code:200")
	until(t, s, ring, "it follows another", has(ring, "a"))
	s.Close()
	server.EndWatches()
	goleak.VerifyNone(t, leaks)
}

func TestSaved(t *testing.T) {
	failed := journey("b")
	failed.Status.Code = 404
	changed := make(chan struct{}, 1)
	s := NewArchive([]*v1alpha1.Journey{journey("a"), failed}, trace.Catalogue{}, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}, func() {})
	s.signal = changed
	defer s.Close()
	ring := NewRing(100)
	s.Follow("")
	until(t, s, ring, "all are there", func(st State) bool { return rows(ring) == "a b" && st.Phase == AsSaved })
	s.Follow("code>=400")
	until(t, s, ring, "the filter is heeded", func(st State) bool { return rows(ring) == "b" && st.Phase == AsSaved })
	if j, err := s.Get(context.Background(), "a"); err != nil || j.Name != "a" {
		t.Errorf("%v, %v", j, err)
	}
	if _, err := s.Get(context.Background(), "c"); err == nil {
		t.Error("there is a journey that was not saved")
	}
}

// TestSavedByAnotherVersion: a filter may ask for a step that only the capture has, and for no other that does not exist.
func TestSavedByAnotherVersion(t *testing.T) {
	other := journey("b")
	other.Status.Steps = []v1alpha1.Step{{ID: "store.guess", Layer: "oracle", Reason: &v1alpha1.Reason{Kind: "the-stars"}}}
	s := NewArchive([]*v1alpha1.Journey{journey("a"), other}, trace.NewCatalogue(trace.Reasons()), func() {}, func() {})
	defer s.Close()
	for _, text := range []string{"step:store.guess", "step:store.gu*", "layer:oracle", "reason:the-stars"} {
		if ids, err := s.List(context.Background(), text); err != nil || fmt.Sprint(ids) != "[b]" {
			t.Errorf("%s: %v, %v", text, ids, err)
		}
	}
	_, err := s.List(context.Background(), "step:store.guest")
	if want := `there is no step "store.guest"; near it: store.guess`; err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

// TestSentences: what an earlier version of kx recorded gets its sentences from the reasons of this one, saved or live.
func TestSentences(t *testing.T) {
	old := journey("a")
	old.Status.Steps = []v1alpha1.Step{{Reason: &v1alpha1.Reason{Kind: trace.NoResourcePath.String()}}, {Reason: &v1alpha1.Reason{Kind: "the-stars"}}}
	server := tuitest.New(t)
	server.Put(old.DeepCopy())
	live, err := New(server.Config, trace.NewCatalogue(trace.Reasons()), 100, func() {})
	if err != nil {
		t.Fatal(err)
	}
	saved := NewArchive([]*v1alpha1.Journey{old.DeepCopy()}, trace.NewCatalogue(trace.Reasons()), func() {}, func() {})
	for name, s := range map[string]*Session{"live": live, "saved": saved} {
		defer s.Close()
		j, err := s.Get(context.Background(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if said := j.Status.Sentences; len(said) != 1 || said[0].Chinese != trace.NoResourcePath.Chinese() {
			t.Errorf("%s: %+v", name, said)
		}
	}
}
