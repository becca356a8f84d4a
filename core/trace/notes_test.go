package trace

import (
	"errors"
	"testing"
	"time"
	"unsafe"

	"github.com/kx-apiserver/kx/core/steps"
)

// TestWay makes a journey of the notes of three that called each other, two of which worked for others too.
func TestWay(t *testing.T) {
	server := &Notes{}
	install := func(resource string) (storage, handlers *Notes) {
		all := Note(server, steps.InstallAPIs, "")
		storage, handlers = NewNotes(StepNote{}, 2), &Notes{}
		provider := Note(server, steps.InstallProvider, resource)
		complete := Note(storage, steps.StorageComplete, resource)
		Note(storage, steps.StorageOptions, resource).End(nil)
		complete.End(nil)
		storage.SetCaller(provider)
		provider.End(nil)
		groups := Note(server, steps.InstallGroups, "/apis")
		*handlers = *NewNotes(groups, 3)
		register := Note(handlers, steps.InstallHandlers, resource)
		can := Note(handlers, steps.InstallVerb, "get")
		can.WhyText(storageCan, "a Getter")
		can.End(nil)
		failed := errors.New("no type")
		Note(handlers, steps.InstallVerb, "list").End(&failed)
		register.Why(routesMade, 1, 7)
		register.End(nil)
		groups.End(nil)
		all.End(nil)
		return storage, handlers
	}
	began := time.Now()
	install("others")
	storage, handlers := install("maps")
	w := &Way{}
	w.Add(storage)
	first := w.Add(handlers)
	w.Say(first+1, "a Getter: here")
	r := w.Record("p-i1", Request{Verb: "install"})
	want := []struct {
		id     steps.ID
		parent int
		why    string
	}{
		{steps.InstallAPIs, -1, ""}, {steps.InstallProvider, 0, ""}, {steps.StorageComplete, 1, ""}, {steps.StorageOptions, 2, ""}, {steps.InstallGroups, 0, ""},
		{steps.InstallHandlers, 4, "1 routes; verbs without one: 7"}, {steps.InstallVerb, 5, "the storage is a Getter: here"}, {steps.InstallVerb, 5, ""},
	}
	if len(r.Steps) != len(want) || r.StepCount != len(want) || r.Running || r.ID != "p-i1" {
		t.Fatalf("%+v", r)
	}
	for i, s := range r.Steps {
		if s.ID != want[i].id || s.Parent != want[i].parent || s.Why != want[i].why || s.Took < 0 || s.Start < 0 {
			t.Errorf("step %d is %+v, want %+v", i, s, want[i])
		}
		if site := SiteOfStep(s.ID); s.ID != steps.InstallAPIs && site.File == "" {
			t.Errorf("nobody knows where %s is taken", s.ID)
		}
	}
	if r.Steps[7].Error != "no type" {
		t.Errorf("it ends with %q", r.Steps[7].Error)
	}
	// What was done for others takes no time of it, and its own parts follow each other.
	if own := r.Steps[2].Took + r.Steps[5].Took; r.Took != own || r.Steps[5].Start != r.Steps[2].Took || r.Steps[2].Start != 0 {
		t.Errorf("it took %s, its parts %s; they begin at %s and %s", r.Took, own, r.Steps[2].Start, r.Steps[5].Start)
	}
	if r.Started.Before(began) || r.Started.After(time.Now()) {
		t.Errorf("it began at %s, not after %s", r.Started, began)
	}
}

// TestNoNotes takes steps of work that keeps no notes.
func TestNoNotes(t *testing.T) {
	n := Note(nil, steps.StorageRaw, "")
	n.Why(fillsAtOnce)
	n.End(nil)
	(*Notes)(nil).SetCaller(n)
	if w := (&Way{}); w.Add(nil) != -1 || len(w.Steps) != 0 {
		t.Errorf("%+v", w)
	}
}

// TestNoteIsSmall bounds what a resource costs: it has some dozens of notes.
func TestNoteIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(note{}); size > 80 {
		t.Errorf("a note has %d bytes", size)
	}
}

// BenchmarkNote is a type assertion of an installation, which is nearly all that notes are about.
func BenchmarkNote(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		notes := NewNotes(StepNote{}, 10)
		for range 10 {
			n := Note(notes, steps.InstallVerb, "list")
			n.WhyText(storageCan, "a rest.Lister")
			n.End(nil)
		}
	}
}
