package story

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// shown is the screen, and the journeys that core/story tells in its tests.
func shown(t *testing.T) (*screentest.Host, *Screen, map[string]*v1alpha1.Journey) {
	t.Helper()
	h := screentest.New(t, tuitest.New(t))
	s := New(h)
	h.Attach(s)
	all := map[string]*v1alpha1.Journey{}
	for _, file := range []string{"journeys.json", "gets.json"} {
		for _, j := range tuitest.Recorded(t, "../../core/story/testdata/"+file) {
			all[j.Name] = j
		}
	}
	return h, s, all
}

func TestGolden(t *testing.T) {
	h, _, all := shown(t)
	h.Sizes()
	h.Show(screen.ToStory{Journey: all["conflict"], Step: -1})
	h.Golden("conflict")
	h.Sizes()
	h.Show(screen.ToStory{Journey: all["plain"], Step: -1})
	h.Golden("plain")
	h.GoldenAt("plain", "80x24")
	h.Show(screen.ToStory{Journey: all["get"], Step: -1})
	h.Shows("Story get", ">   kx-admin asks for GET", "+ 14 filters let it pass", "same as kx trace show get --story")
	h.Sizes()
}

// TestKeys goes from sentence to sentence, also where the lines are broken anew, and to the step in Capture.
func TestKeys(t *testing.T) {
	h, s, all := shown(t)
	h.Press("n")
	if len(h.Complained) != 1 {
		t.Errorf("nothing is told: %q", h.Complained)
	}
	h.Frame(80, 20)
	get := all["get"]
	h.Show(screen.ToStory{Journey: get, Step: -1})
	h.Press("n", "n", "n")
	if step := s.step(); step == nil || step.ID != "rest.get" {
		t.Errorf("the third sentence after the first is of %+v", step)
	}
	h.Frame(60, 15)
	h.Frame(150, 40)
	if step := s.step(); step == nil || step.ID != "rest.get" {
		t.Errorf("after other sizes the cursor is on %+v", step)
	}
	h.Press("p", "enter")
	if len(h.Went) != 1 || h.Went[0] != (screen.ToRequest{Journey: "get", Step: "handler.get"}) {
		t.Errorf("%+v", h.Went)
	}
	h.Press("f")
	h.Answer("one key")
	if step := s.step(); step == nil || step.ID != "etcd.get" {
		t.Errorf("found %+v", step)
	}
	h.Press("f")
	h.Answer("nowhere")
	if len(h.Complained) != 2 {
		t.Errorf("%q", h.Complained)
	}
	h.Press("y")
	if len(h.Copied) != 1 || !strings.Contains(h.Copied[0], " 200, of 1860 bytes") {
		t.Errorf("%q", h.Copied)
	}
	last := len(get.Status.Steps) - 1
	if h.Show(screen.ToStory{Journey: get, Step: last}); s.step() != &get.Status.Steps[last] {
		t.Errorf("led to %+v", s.step())
	}
	h.Press("n", "n")
	if len(h.Said) != 1 {
		t.Errorf("after the end: %q", h.Said)
	}
}

// TestReadOn reads to the end by itself, and stops where it is told to.
func TestReadOn(t *testing.T) {
	h, s, all := shown(t)
	h.Frame(120, 30)
	h.Show(screen.ToStory{Journey: all["get"], Step: -1})
	s.pace = func(string) time.Duration { return 0 }
	h.Press(" ")
	h.Until("it has read to the end", func() bool { return s.turning == nil && s.sentence() == len(s.told)-1 })

	h.Press("g")
	s.pace = func(string) time.Duration { return time.Hour }
	h.Press(" ")
	if _, state := s.Foot(); s.turning == nil || !strings.Contains(state, "stops") || !strings.Contains(strings.Join(h.Frame(120, 30), "\n"), "Story") {
		t.Error("it does not read")
	}
	h.Press(" ")
	if s.turning != nil || s.sentence() != 0 {
		t.Errorf("it does not stop, or went on to sentence %d", s.sentence())
	}
}

// TestStoryWithoutSteps shows no source of the story before.
func TestStoryWithoutSteps(t *testing.T) {
	h, _, all := shown(t)
	h.Frame(140, 30)
	h.Show(screen.ToStory{Journey: all["get"], Step: 5})
	if frame := strings.Join(h.Frame(140, 30), "\n"); !strings.Contains(frame, ".go:") {
		t.Errorf("there is no source beside\n%s", frame)
	}
	empty := &v1alpha1.Journey{Spec: v1alpha1.JourneySpec{Verb: "get"}}
	empty.Name = "empty"
	h.Show(screen.ToStory{Journey: empty, Step: -1})
	if frame := strings.Join(h.Frame(140, 30), "\n"); !strings.Contains(frame, "empty") || strings.Contains(frame, ".go:") {
		t.Errorf("beside the story is\n%s", frame)
	}
}

// TestSourceWithoutServer asks once for a file that the server does not give, and again when the user comes back to it.
func TestSourceWithoutServer(t *testing.T) {
	var asked []string
	h := screentest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked = append(asked, path.Base(r.URL.Path)); len(asked) < 10 {
			http.Error(w, `{"kind":"Status","code":503,"message":"not now"}`, http.StatusServiceUnavailable)
			return
		}
		http.Error(w, `{"kind":"Status","code":404}`, http.StatusNotFound) // ends what would go on for ever
	}))
	s := New(h)
	h.Attach(s)
	h.Frame(140, 30)
	a := v1alpha1.Step{ID: "rest.get", Layer: "rest", Title: "gets", Parent: -1, File: "server/a.go", Line: 3}
	b := a
	b.File, b.Subject, b.Layer = "server/b.go", "/b", "store"
	j := &v1alpha1.Journey{Spec: v1alpha1.JourneySpec{Verb: "get"}, Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{a, b}}}
	h.Show(screen.ToStory{Journey: j, Step: 0})
	if len(asked) != 1 || !strings.Contains(strings.Join(h.Frame(140, 30), "\n"), "not now") {
		t.Errorf("the server was asked for %q", asked)
	}
	h.Press("n", "p")
	if want := []string{"server.a.go", "server.b.go", "server.a.go"}; !slices.Equal(asked, want) {
		t.Errorf("after two keys the server was asked for %q, want %q", asked, want)
	}
}

func TestReadingTime(t *testing.T) {
	short, long := readingTime("It still runs."), readingTime(strings.Repeat("word ", 20))
	if short >= long || short < time.Second || long > 10*time.Second {
		t.Errorf("%v for three words, %v for twenty", short, long)
	}
}
