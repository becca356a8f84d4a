package compare

import (
	"net/http"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

func shown(t *testing.T) (*screentest.Host, *Screen, map[string]*v1alpha1.Journey) {
	t.Helper()
	h := screentest.New(t, http.NotFoundHandler())
	s := New(h, func(shown ...*v1alpha1.Journey) tea.Cmd {
		h.Say("save " + shown[0].Name + " " + shown[1].Name)
		return nil
	})
	h.Attach(s)
	all := map[string]*v1alpha1.Journey{}
	for _, j := range tuitest.Recorded(t, "../pane/testdata/journeys.json") {
		all[j.Name] = j
	}
	return h, s, all
}

func TestGolden(t *testing.T) {
	h, _, all := shown(t)
	h.Show(screen.ToCompare{A: all["rec-2"], B: all["rec-3"]})
	h.GoldenAt("cached-and-not", "80x24") // docs/capture.md has it
	h.Show(screen.ToCompare{A: all["rec-7"], B: all["rec-8"]})
	h.Shows("32 steps in both, 9 of them went otherwise (~); 8 in A alone (<)", ">~ handler.update UpdateResource", "< error -",
		"> error Operation cannot be", "same as kx trace compare rec-7 rec-8")
	h.Press("f")
	h.Answer("store.try-update")
	h.Shows("< why the request named no")
	h.Show(screen.ToCompare{A: all["rec-7"], B: all["rec-16"]})
	h.Shows("40 steps in both, 7 of them went otherwise (~); 0 in A alone (<)", ">~ store.key KeyFunc", "< about demo", "> about held",
		"same as kx trace compare rec-7 rec-16")
}

// TestKeys goes from difference to difference, and to the step in Capture.
func TestKeys(t *testing.T) {
	h, s, all := shown(t)
	h.Press("n")
	if len(h.Complained) != 1 {
		t.Errorf("there is nothing to compare: %q", h.Complained)
	}
	h.Show(screen.ToCompare{A: all["rec-2"], B: all["rec-3"]})
	var got []string
	for range 6 {
		got = append(got, s.title(s.current()))
		h.Press("n")
	}
	want := "handler.options  decode the options of the verb|store.get  Store.Get|cacher.get  Cacher.Get|etcd.key-revision  KV.Get of one key's revision|etcd3.metrics  record in the metrics how long etcd took"
	if !strings.HasPrefix(strings.Join(got, "|"), want) || len(h.Said) != 2 {
		t.Errorf("%q, said %q", got, h.Said)
	}
	h.Press("enter")
	if len(h.Went) != 1 || h.Went[0] != (screen.ToRequest{Journey: "rec-3", Step: "etcd3.metrics"}) {
		t.Errorf("%+v", h.Went)
	}
	h.Press("u")
	if len(s.rows) != 5 {
		t.Errorf("%d differences", len(s.rows))
	}
	h.Press("_")
	if to, ok := h.Went[len(h.Went)-1].(screen.ToPicture); !ok || to.Journey != all["rec-2"] || to.Beside != all["rec-3"] {
		t.Errorf("%+v", h.Went)
	}
	h.Press("u", "A", "f")
	h.Answer("CACHER.GET")
	if !strings.HasPrefix(s.title(s.current()), "cacher.get") || s.a != all["rec-3"] {
		t.Errorf("%s", s.title(s.current()))
	}
	h.Press("y", "tab", "j", "G", "g", "shift+tab", "j", "k", "p", "G", "ctrl+u")
	if len(h.Copied) != 1 || !strings.Contains(h.Copied[0], "< ") || strings.Contains(h.Copied[0], "\n> ") {
		t.Errorf("%s", h.Copied)
	}
	h.Click(5, 8, 0)
	h.Click(5, 8, 1)
	h.Click(100, 10, 0)
	if s.Context() != detailsPlace {
		t.Errorf("a click beside: %s", s.Context())
	}
	h.Click(100, 10, 1)
}

// TestSave saves both requests as they were recorded, unless they can't be compared.
func TestSave(t *testing.T) {
	h, _, all := shown(t)
	h.Look.Words = lang.Chinese
	h.Show(screen.ToCompare{A: all["rec-2"], B: all["rec-3"]})
	h.Press("w", "A", "w")
	h.Show(screen.ToCompare{A: all["rec-2"], B: all["rec-15"]})
	h.Press("w")
	if want := "save rec-2 rec-3|save rec-3 rec-2"; strings.Join(h.Said, "|") != want {
		t.Errorf("%q, want %s", h.Said, want)
	}
	if len(h.Complained) != 1 || !strings.Contains(h.Complained[0], "rec-15 has not ended (Held): it can be compared afterwards") {
		t.Errorf("%q", h.Complained)
	}
}

func TestSizes(t *testing.T) {
	h, _, all := shown(t)
	h.Sizes()
	hostile := all["rec-16"].DeepCopy()
	for i := range hostile.Status.Steps {
		hostile.Status.Steps[i].Parent, hostile.Status.Steps[i].TookNanos = int32(i+3), -1
		hostile.Status.Steps[i].After = &runtime.RawExtension{Raw: []byte("{" + escapetest.Any())}
	}
	for _, to := range []screen.ToCompare{{A: all["rec-7"], B: all["rec-16"]}, {A: all["rec-7"], B: hostile}, {A: &v1alpha1.Journey{}, B: hostile}, {A: &v1alpha1.Journey{}, B: &v1alpha1.Journey{}}} {
		h.Show(to)
		h.Press("n", "j")
		h.Sizes()
	}
}
