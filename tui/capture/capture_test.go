package capture

import (
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/session"
)

// shown is the screen of a server that has all that was recorded.
func shown(t *testing.T) (*screentest.Host, *Screen) {
	t.Helper()
	server := tuitest.New(t)
	recorded := tuitest.Recorded(t, "../testdata/journeys.json")
	server.Put(recorded...)
	h := screentest.New(t, server)
	h.Known = trace.NewCatalogue([]trace.Reason{trace.Because("key-moved", "the key moved on", "该键已变")})
	held := control.New(h.API(), h.Changed, h.Guard)
	t.Cleanup(held.Close)
	s := New(h, held, Options{})
	h.Attach(s)
	h.Until("all are there", func() bool { return s.ring.Len() == len(recorded) && s.state.Phase == session.Live })
	return h, s
}

func TestSizes(t *testing.T) {
	h, _ := shown(t)
	for _, press := range []string{"g", "enter", "z", "enter", "esc", "/", "esc", "d"} {
		h.Press(press)
		h.Sizes()
	}
}

// TestLeadToTab leads to a tab of Detail, also where it shares its place with Steps, and then to the newest request and those that come.
func TestLeadToTab(t *testing.T) {
	for _, w := range []int{120, 72} {
		h, s := shown(t)
		h.Size(w, 36)
		first := s.ring.At(0).Name
		h.Show(screen.ToRequest{Journey: first, Step: "etcd.txn", Tab: "Diff"})
		h.Until("its steps are there", func() bool { return s.open.journey != nil && s.open.id == first })
		if frame := strings.Join(h.Frame(w, 36), "\n"); !strings.Contains(frame, "[Diff]") {
			t.Errorf("%d wide, no Diff:\n%s", w, frame)
		}
		h.Show(screen.ToNewest{})
		if got, want := s.list.Selected().Name, s.ring.At(s.ring.Len()-1).Name; got != want || !s.list.Following() {
			t.Errorf("the newest is %s, not %s; it follows: %v", want, got, s.list.Following())
		}
	}
}

// TestLead leads to a step of a request, from where another is looked at and from behind a filter that hides it.
func TestLead(t *testing.T) {
	h, s := shown(t)
	first := s.ring.At(0).Name
	for _, before := range [][]string{{"G"}, {"G", "/", "verb:watch", "enter"}, {"g", "enter", "g"}} {
		h.Press(before...)
		h.Show(screen.ToRequest{Journey: first, Step: "etcd.txn"})
		h.Until("the request is open", func() bool {
			return s.open.journey != nil && s.open.id == first && s.want.Journey == ""
		})
		j := s.open.journey
		if at := s.steps.Selected(); at < 0 || j.Status.Steps[at].ID != "etcd.txn" || s.Context() != keys.Steps {
			t.Errorf("after %v: the cursor is on step %d in %s", before, at, s.Context())
		}
	}
	h.Show(screen.ToRequest{Journey: "never-was"})
	h.Until("it is said that it is not there", func() bool { return len(h.Complained) > 0 })
	if !strings.Contains(h.Complained[0], "never-was") {
		t.Errorf("%q", h.Complained)
	}
	h.Show(screen.ToRequests{Filter: "code:409"})
	h.Until("the filter is on", func() bool { return s.ring.Len() == 1 })
}

// TestLeadToUnheard leads to requests that the list has not heard of: it is asked for, and comes to stand where it belongs.
func TestLeadToUnheard(t *testing.T) {
	server := tuitest.New(t)
	recorded := tuitest.Recorded(t, "../testdata/journeys.json")
	first, last := recorded[0], recorded[len(recorded)-1]
	server.Put(recorded[1 : len(recorded)-1]...)
	server.PutUntold(last)
	server.PutUntold(first)
	h := screentest.New(t, server)
	held := control.New(h.API(), h.Changed, h.Guard)
	t.Cleanup(held.Close)
	s := New(h, held, Options{})
	h.Attach(s)
	h.Until("all are there", func() bool { return s.ring.Len() == len(recorded)-2 && s.state.Phase == session.Live })
	for _, j := range []*v1alpha1.Journey{last, first} {
		h.Show(screen.ToRequest{Journey: j.Name})
		h.Until("the request is open", func() bool { return s.open.journey != nil && s.open.journey.Name == j.Name })
	}
	server.Put(last, first)
	h.Until("the list has heard of them", func() bool { return s.ring.At(0).ResourceVersion != first.ResourceVersion })
	if n := s.ring.Len(); s.ring.At(0).Name != first.Name || s.ring.At(n-1).Name != last.Name || n != len(recorded) {
		t.Errorf("%d rows, from %s to %s", n, s.ring.At(0).Name, s.ring.At(n-1).Name)
	}
	if len(h.Complained) > 0 {
		t.Errorf("%q", h.Complained)
	}
}

// TestHidden says of a filter that was kept from the last time how many requests it hides, until it is off.
func TestHidden(t *testing.T) {
	server := tuitest.New(t)
	server.Put(tuitest.Recorded(t, "../testdata/journeys.json")...)
	h := screentest.New(t, server)
	held := control.New(h.API(), h.Changed, h.Guard)
	t.Cleanup(held.Close)
	s := New(h, held, Options{})
	if err := s.Restore([]byte(`{"filter":"code:418"}`)); err != nil {
		t.Fatal(err)
	}
	h.Attach(s)
	h.Until("it is known how many are hidden", func() bool { return s.hidden.requests > 1 })
	h.Shows("/ code:418 esc shows all", "The filter hides all 11 requests that the server has. esc shows them.", "which code it went through")
	h.Press("esc")
	h.Until("all are there", func() bool { return s.ring.Len() == len(tuitest.Recorded(t, "../testdata/journeys.json")) })
	for _, test := range []struct {
		hidden hiddenCount
		want   string
	}{{hiddenCount{}, "No request matches"}, {hiddenCount{"a", 0}, "No request matches"}, {hiddenCount{"a", 1}, "hides the only request"}, {hiddenCount{"b", 7}, "No request matches"}} {
		if got := test.hidden.lines("a", lang.English); !strings.Contains(got[0], test.want) {
			t.Errorf("%+v: %q", test.hidden, got)
		}
	}
}

func TestMouse(t *testing.T) {
	h, s := shown(t)
	h.Click(5, s.Area(0).Y+2, 0)
	top := s.list.Selected().Name
	h.Click(5, s.Area(0).Y+3, 0)
	if s.Context() != keys.List || s.list.Selected().Name == top {
		t.Errorf("a click in the list: %s", s.list.Selected().Name)
	}
	r := s.Area(1)
	h.Click(r.X+3, r.Y+4, 0)
	at := s.steps.Selected()
	h.Click(r.X+3, r.Y+4, 1)
	if s.Context() != keys.Steps || s.steps.Selected() == at {
		t.Errorf("the wheel in Steps: %s, step %d", s.Context(), s.steps.Selected())
	}
	h.Click(3, 0, 0)
	if s.Context() != keys.Filter {
		t.Errorf("a click on the filter: %s", s.Context())
	}
}

// TestLateAnswer has an answer for a request that is no longer selected.
func TestLateAnswer(t *testing.T) {
	h, s := shown(t)
	h.Press("g")
	id := s.open.id
	late := s.fetch("rec-2")
	h.Run(s.fetch(id))
	shown := s.open.journey
	if h.Run(late); s.open.id != id || s.open.journey != shown || shown == nil {
		t.Error("it is shown")
	}
}

// TestKeysBeforeSteps presses keys while the steps of another request are still shown: they are about those of the one that is
// opened, and are done once these are there.
func TestKeysBeforeSteps(t *testing.T) {
	for _, pressed := range [][]string{{"g", "j", "n"}, {"G", "p", "}"}, {"n"}, {"S"}} {
		h, s := shown(t)
		h.Press("g")
		before := s.open.id
		steps, _ := s.Handle(keys.Bottom)
		h.Press("enter")
		h.Press(pressed...)
		if s.open.journey != nil || s.open.id == before || len(h.Went) > 0 {
			t.Fatalf("%s is open: %v", s.open.id, s.open.journey != nil)
		}
		h.Run(steps)
		early, told := s.steps.Selected(), len(h.Went)

		again, on := shown(t)
		again.Press("g", "G", "enter")
		again.Press(pressed...)
		if late := on.steps.Selected(); s.open.journey == nil || early != late || told != len(again.Went) || len(h.Complained) > 0 {
			t.Errorf("after %v the cursor is at %d, not at %d, and %d were told, not %d: %q", pressed, early, late, told, len(again.Went), h.Complained)
		}
	}
}

// TestComplete completes fields and values, as far as they are certain.
func TestComplete(t *testing.T) {
	h, s := shown(t)
	h.Press("/")
	for typed, want := range map[string]string{
		"re":                   "re", // reason or resource
		"res":                  "resource:",
		"reason:key-m":         "reason:key-moved",
		"step:etcd.t":          "step:etcd.txn",
		"ver":                  "ver",
		"verb:up":              "verb:update",
		"!verb:get,wa":         "!verb:get,watch",
		"code>=400 (phase:h":   "code>=400 (phase:held",
		"resource:conf":        "resource:configmaps",
		"namespace:def":        "namespace:default",
		"user:kx":              "user:kx-admin",
		"ip:127":               "ip:127.0.0.1",
		"method:P":             "method:P",
		"name:no-such":         "name:no-such",
		"bogus:x":              "bogus:x",
		"why:\"a b":            "why:\"a b",
		"layer:tr":             "layer:transform",
		"verb:deletecollectio": "verb:deletecollection",
		"stepsx":               "stepsx",
		"step(etcd.t":          "step(etcd.txn",
		"step(etcd.txn wh":     "step(etcd.txn why:",
		"steps(layer:tr":       "steps(layer:transform",
		"etcd.txn -> etcd.t":   "etcd.txn -> etcd.txn",
		"step(etcd.txn ver":    "step(etcd.txn ver",
		"step(etcd.txn) ta":    "step(etcd.txn) ta",
		"step(etcd.txn) tou":   "step(etcd.txn) touched:",
	} {
		s.Line().Set(typed)
		h.Press("tab")
		if got := s.Line().String(); got != want {
			t.Errorf("%s becomes %s, want %s", typed, got, want)
		}
	}
	s.Line().Set("verb:")
	if _, state := s.Foot(); !strings.Contains(state, "values: get list watch") {
		t.Errorf("%q", state)
	}
	s.Line().Set("verb:get step(etcd.")
	if _, state := s.Foot(); !strings.Contains(state, "values: etcd.") {
		t.Errorf("%q", state)
	}
	// What is no word to the language stands in quotes.
	s.ring.At(0).Spec.User = "Ann, of here"
	for _, typed := range []string{"user:An", `user:"Ann, of`} {
		s.Line().Set(typed)
		h.Press("tab")
		if got := s.Line().String(); got != `user:"Ann, of here"` {
			t.Errorf("%s becomes %s", typed, got)
		}
		if _, err := s.parseFilter(); err != nil {
			t.Error(err)
		}
	}
	s.ring.At(0).Spec.User, s.ring.At(1).Spec.User = "zé", "zè" // their first bytes are the same
	s.Line().Set("user:z")
	h.Press("tab")
	if got := s.Line().String(); got != "user:z" {
		t.Errorf("half a character is completed: %q", got)
	}
	s.ring.At(0).Spec.User = `zz"y`
	s.Line().Set(`user:"zz`)
	h.Press("tab")
	if got := s.Line().String(); got != `user:"zz\"y"` {
		t.Errorf("quotes within quotes: %s", got)
	}
}
