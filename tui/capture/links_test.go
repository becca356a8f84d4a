package capture

import (
	"encoding/json"
	"net/http"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/session"
)

// linked is the screen of a server that has the recorded journeys, its source, and a watch cache. It is behind the request
// of a name.
func linked(t testing.TB, name string) (*screentest.Host, *Screen) {
	t.Helper()
	return linkedTo(t, "../pane/testdata/journeys.json", name)
}

// linkedTo is linked with the journeys of a file.
func linkedTo(t testing.TB, file, name string) (*screentest.Host, *Screen) {
	t.Helper()
	journeys := tuitest.New(t)
	recorded := tuitest.Recorded(t, file)
	journeys.Put(recorded...)
	h := screentest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path.Base(path.Dir(r.URL.Path)) {
		case "sources":
			file := path.Base(r.URL.Path)
			text := "package p\n\nfunc f() {\n" + strings.Repeat("\tg()\n", 500) + "}\n"
			if data, err := os.ReadFile("../pane/detail/testdata/" + file + ".txt"); err == nil {
				text = string(data)
			}
			reply(t, w, &v1alpha1.Source{Spec: v1alpha1.SourceSpec{File: file, Text: text}})
		case "caches":
			c := &v1alpha1.Cache{}
			c.Name = path.Base(r.URL.Path)
			c.Status.Watchers = []v1alpha1.CacheWatcher{{ID: 9, Journey: "other", UserAgent: "informer", Key: "/configmaps/other/", At: 100}}
			reply(t, w, c)
		default:
			journeys.ServeHTTP(w, r)
		}
	}))
	held := control.New(h.API(), h.Changed, h.Guard)
	t.Cleanup(held.Close)
	s := New(h, held, Options{})
	h.Attach(s)
	h.Until("all are there", func() bool { return s.ring.Len() == len(recorded) && s.state.Phase == session.Live })
	h.Size(120, 36)
	s.list.Select(name)
	h.Run(s.sync())
	return h, s
}

func reply(t testing.TB, w http.ResponseWriter, object any) {
	if err := json.NewEncoder(w).Encode(object); err != nil {
		t.Error(err)
	}
}

func (s *Screen) id() string { return s.open.journey.Status.Steps[s.steps.Selected()].ID }

// TestThreeKeys goes, from the list and in three keys, to the step that changed a field, to the source line that did it,
// and to the revision in etcd that came of it.
func TestThreeKeys(t *testing.T) {
	h, s := linked(t, "rec-7")
	h.Press("d")
	frame := strings.Join(h.Frame(120, 36), "\n")
	for _, want := range []string{`+   a: "2"`, "handler.decode", `resourceVersion: "7"`, "etcd.txn", "3 by the request, 2 by the server"} {
		if !strings.Contains(frame, want) {
			t.Errorf("after one key, %q is not on the screen:\n%s", want, frame)
		}
	}
	h.Press("j", "enter")
	if s.id() != "handler.decode" || s.Context() != keys.Steps {
		t.Errorf("the cursor is on %s in %s", s.id(), s.Context())
	}

	h, s = linked(t, "rec-7")
	h.Press("d", "j", "v")
	frame = strings.Join(h.Frame(120, 36), "\n")
	if s.id() != "handler.decode" || !strings.Contains(frame, "[Source]") || !strings.Contains(frame, "here     server/handler/decode.go") {
		t.Errorf("the source of %s:\n%s", s.id(), frame)
	}

	h, _ = linked(t, "rec-7")
	h.Press("V")
	want := screen.ToKey{Key: "/registry/configmaps/default/demo", Revision: 7}
	if len(h.Went) != 1 || h.Went[0] != want {
		t.Errorf("%+v", h.Went)
	}
	h.Press("d", "enter")
	if len(h.Went) != 2 || h.Went[1] != want {
		t.Errorf("%+v", h.Went)
	}
}

// TestGolden is what the screen looks like while a request is looked at.
func TestGolden(t *testing.T) {
	for _, test := range []struct {
		journey string
		press   []string
		shows   []string // none for a golden
	}{
		{"rec-16", nil, []string{"Capture", "50 steps", "> * rec-16", "etcd.txn KV.Txn /registry/configmaps/default/held",
			"the key was still at revision 16", "same as kubectl replace -f FILE -n default"}},
		{"rec-16", []string{"enter"}, nil},
		{"rec-7", []string{"d"}, []string{"[Diff]", ">whole request: as it was stored, to revision 7", "5 changed: 3 by the request, 2 by the server",
			`- a: "1"`, `+ a: "2"`, "#20 handler.decode"}},
		{"rec-7", []string{"V", "enter", "f", "?etcd.txn", "v"}, []string{"[Source]", "here store/etcd3/kv.go:110", "upstream KV.Txn",
			"110 ctx, step := trace.Start(ctx"}},
		{"rec-16", []string{"enter", "tab", "[", "[", "[", "z"}, []string{"[Timing]", "ms went", "work", "the steps themselves", "round trips to etcd",
			"on purpose", "held, or delayed by a fault", "14 filters", ">#15 handler.route"}},
		{"rec-15", []string{"enter"}, []string{">= rec-15", `|| held by breakpoint "txn" at its start`, "PAUSED rec-15 at 35 etcd.txn"}},
	} {
		h, _ := linked(t, test.journey)
		for _, key := range test.press {
			if text, answer := strings.CutPrefix(key, "?"); answer {
				h.Answer(text)
				continue
			}
			h.Press(key)
		}
		if test.shows == nil {
			h.Golden("steps")
		} else {
			h.Shows(test.shows...)
		}
	}
}

// TestClick presses the mouse on a field that changed: enter goes to the step that did.
func TestClick(t *testing.T) {
	h, s := linked(t, "rec-7")
	h.Press("d")
	r := s.Area(layout.Detail)
	for y, line := range h.Frame(120, 36)[r.Y:] {
		if strings.Contains(line, `resourceVersion: "7"`) {
			h.Click(r.X+5, r.Y+y, 0)
		}
	}
	h.Press("enter")
	if s.id() != "etcd.txn" {
		t.Errorf("the cursor is on %s", s.id())
	}
}

// TestWhichCode is what a new user wants to know of a read: which code served it, and was it the cache or etcd?
func TestWhichCode(t *testing.T) {
	h, s := linked(t, "rec-3")
	h.Press("enter", "f")
	h.Answer("cacher.get")
	h.Press("v")
	frame := strings.Join(h.Frame(120, 36), "\n")
	if s.id() != "cacher.get" || !strings.Contains(frame, "here     store/cacher/") || !strings.Contains(frame, "upstream CacheDelegator.Get") {
		t.Errorf("%s:\n%s", s.id(), frame)
	}
	if !strings.Contains(frame, "etcd has the key at 6, and so has") {
		t.Errorf("it is not said who served it:\n%s", frame)
	}
}

// TestField leads to a field of a request.
func TestField(t *testing.T) {
	h, s := linked(t, "rec-1")
	h.Show(screen.ToRequest{Journey: "rec-9", Field: "metadata.labels.app"})
	h.Until("the request is open", func() bool { return s.open.journey != nil && s.open.id == "rec-9" && s.open.field == "" })
	if to, ok := s.detail.Leads(); !ok || s.open.journey.Status.Steps[to.Step].ID != "handler.apply-patch" || s.Context() != keys.Detail {
		t.Errorf("%+v, %v in %s", to, ok, s.Context())
	}
	h.Show(screen.ToRequest{Journey: "rec-9", Field: "spec.nothing"})
	if len(h.Said) == 0 || !strings.Contains(h.Said[len(h.Said)-1], "did not change spec.nothing") {
		t.Errorf("%q", h.Said)
	}
}

// TestWatchers asks who watches, once for each request.
func TestWatchers(t *testing.T) {
	h, _ := linked(t, "rec-7")
	h.Press("[", "[")
	frame := strings.Join(h.Frame(120, 36), "\n")
	for _, want := range []string{"[Watchers]", "who got the event", "informer other: it watches"} {
		if !strings.Contains(frame, want) {
			t.Errorf("%q is not on the screen:\n%s", want, frame)
		}
	}
}

// TestBeside has Diff and Source side by side where there is room: the source is of the step that changed the field under
// the cursor.
func TestBeside(t *testing.T) {
	h, s := linked(t, "rec-7")
	h.Press("d")
	for range 5 {
		h.Press("j")
	}
	h.Size(200, 56)
	step, ok := s.detail.BlamedStep()
	h.Until("the source is there", func() bool {
		file, _ := s.sources.Get(s.open.journey.Status.Steps[step].File)
		return file != nil
	})
	frame := strings.Join(h.Frame(200, 56), "\n")
	if !ok || !strings.Contains(frame, "[Diff]") || !strings.Contains(frame, "here     "+s.open.journey.Status.Steps[step].File) {
		t.Errorf("step %d, %v:\n%s", step, ok, frame)
	}
	h.Shows("[Diff]", "whole request: as it was stored, to revision 7", "5 changed: 3 by the request, 2 by the server", "+ app: red")
}

// TestMarkAndCompare compares a request with the one that is marked.
func TestMarkAndCompare(t *testing.T) {
	h, s := linked(t, "rec-2")
	h.Press("D")
	if len(h.Complained) != 1 {
		t.Errorf("there is nothing to compare with: %q", h.Complained)
	}
	h.Press("m", "j", "D")
	if len(h.Went) != 1 {
		t.Fatalf("went to %v, complained %q", h.Went, h.Complained)
	}
	to, ok := h.Went[0].(screen.ToCompare)
	if !ok || to.A.Name != "rec-2" || to.B.Name != "rec-3" || len(to.A.Status.Steps) == 0 || len(to.B.Status.Steps) == 0 {
		t.Errorf("%+v", h.Went)
	}
	h.Press("G", "'")
	h.Answer("a")
	if s.list.Selected().Name != "rec-2" || s.At() != layout.List {
		t.Errorf("the cursor is on %s", s.list.Selected().Name)
	}
	h.Press("'")
	h.Answer("z")
	h.Press("m", "'")
	if len(h.Complained) != 3 {
		t.Errorf("%q", h.Complained)
	}
}

// TestFindAndEdit looks for text in each pane, and opens what Detail shows in an editor.
func TestFindAndEdit(t *testing.T) {
	h, s := linked(t, "rec-1")
	h.Press("g", "f")
	h.Answer("409")
	if s.list.Selected().Name != "rec-8" {
		t.Errorf("the cursor is on %s", s.list.Selected().Name)
	}
	h.Press("f")
	h.Answer("nowhere")
	if len(h.Complained) != 1 {
		t.Errorf("%q", h.Complained)
	}
	h.Press("enter", "f")
	h.Answer("managed")
	if s.id() != "handler.managed-fields" {
		t.Errorf("the cursor is on %s", s.id())
	}
	h.Press("E", "tab", "y")
	if len(h.Edits) != 1 || !strings.Contains(string(h.Edits[0].Text), "note who owns which field") || len(h.Copied) != 1 || h.Copied[0] != string(h.Edits[0].Text) {
		t.Errorf("edited %+v, copied %q", h.Edits, h.Copied)
	}
}
