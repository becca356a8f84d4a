package picture

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// sources is a server whose files all have the same lines, beside what it serves otherwise.
type sources struct{ http.Handler }

func (s sources) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, name, ok := strings.Cut(r.URL.Path, "/sources/")
	if !ok {
		s.Handler.ServeHTTP(w, r)
		return
	}
	text := "package example\n"
	for line := 2; line < 2000; line++ {
		text += fmt.Sprintf("\tif answer := step(%d); answer != nil { return answer }\n", line)
	}
	file := strings.TrimSuffix(strings.ReplaceAll(name, ".", "/"), "/go") + ".go"
	_ = json.NewEncoder(w).Encode(&v1alpha1.Source{Spec: v1alpha1.SourceSpec{File: file, Text: text}})
}

// shown is the screen, and the journeys that core/story tells in its tests.
func shown(t *testing.T) (*screentest.Host, *Screen, map[string]*v1alpha1.Journey) {
	t.Helper()
	h := screentest.New(t, sources{tuitest.New(t)})
	s := New(h)
	h.Attach(s)
	all := map[string]*v1alpha1.Journey{}
	for _, j := range tuitest.Recorded(t, "../../core/story/testdata/journeys.json") {
		all[j.Name] = j
	}
	return h, s, all
}

// stepOf is the index of the first step of a kind.
func stepOf(j *v1alpha1.Journey, id string) int {
	for i := range j.Status.Steps {
		if j.Status.Steps[i].ID == id {
			return i
		}
	}
	return -1
}

// TestGolden draws a read that etcd answers where that was decided, in both languages, and an update where it was refused.
func TestGolden(t *testing.T) {
	h, _, all := shown(t)
	h.Sizes()
	get, conflict := all["get"], all["conflict"]
	h.Show(screen.ToPicture{Journey: get, Step: stepOf(get, "cacher.get")})
	h.GoldenAt("get", "80x24")
	h.GoldenAt("get", "120x40")
	h.Sizes()
	h.Show(screen.ToPicture{Journey: conflict, Step: stepOf(conflict, "store.try-update")})
	h.GoldenAt("conflict", "80x24")
	h.Sizes()
	h.Look.Words = lang.Chinese
	h.Show(screen.ToPicture{Journey: get, Step: stepOf(get, "cacher.get")})
	h.GoldenAt("get.zh", "80x24")
	h.Sizes()
}

// TestWalk walks to the end and back with each key that does so, also with the one that presenters' clickers send, and by the mouse.
func TestWalk(t *testing.T) {
	h, s, all := shown(t)
	h.Press("n")
	if len(h.Complained) != 1 {
		t.Errorf("nothing is drawn: %q", h.Complained)
	}
	h.Frame(80, 20)
	h.Show(screen.ToPicture{Journey: all["get"], Step: -1})
	h.Shows("GET /api/v1/namespaces/default/configmaps/demo", "200, stop 1 of 9", "kx-admin asks for GET", "no body: its path says all")
	h.Press("n", "j", "down", "l", "right", "pgdown")
	if s.at != 6 || s.stop().Box != story.Etcd {
		t.Errorf("six keys led to stop %d: %+v", s.at, s.stop())
	}
	h.Press("N", "p", "k", "up", "h", "left", "pgup")
	if s.at != 0 || len(h.Said) != 1 {
		t.Errorf("seven keys back led to stop %d, and said %q", s.at, h.Said)
	}
	h.Click(3, 3, 0)
	if s.at != 1 {
		t.Errorf("a click led to stop %d", s.at)
	}
	h.Press("G")
	if s.at != len(s.walk.Stops)-1 {
		t.Errorf("G led to stop %d", s.at)
	}
	h.Press("enter", "g", "n", "n", "n", "enter", "S", "v")
	step := all["get"].Status.Steps[stepOf(all["get"], "rest.get")]
	want := []screen.Target{screen.ToRequest{Journey: "get"}, screen.ToRequest{Journey: "get", Step: "rest.get"}}
	if len(h.Went) != 4 || h.Went[0] != want[0] || h.Went[1] != want[1] || h.Went[2].(screen.ToStory).Journey != all["get"] ||
		h.Went[3].(screen.ToSource).Line != int(step.Line) {
		t.Errorf("%+v", h.Went)
	}
	h.Press("y")
	if len(h.Copied) != 1 || !strings.Contains(h.Copied[0], "cacher: The watch cache is asked for") {
		t.Errorf("%q", h.Copied)
	}
}

// TestPart draws what is not whole: a request from the cache, which did not get to etcd; one that still runs; one without steps; and
// one whose words act on terminals.
func TestPart(t *testing.T) {
	h, s, all := shown(t)
	cached := all["get"].DeepCopy()
	at := stepOf(cached, "cacher.get")
	cached.Status.Steps = cached.Status.Steps[:at+1]
	cached.Status.Steps[at].Reason, cached.Status.Steps[at].Why = nil, "resourceVersion 0: any state will do"
	h.Show(screen.ToPicture{Journey: cached, Step: at})
	h.Shows("● decided", "any state will do")
	if frame := strings.Join(h.Frame(80, 20), "\n"); !strings.Contains(frame, "┃cacher┃╌╌┆etcd┆") {
		t.Errorf("etcd was asked in\n%s", frame)
	}
	running := all["get"].DeepCopy()
	running.Status.Phase, running.Status.Code, running.Status.Steps = v1alpha1.JourneyRunning, 0, running.Status.Steps[:at+1]
	running.Status.Steps[at].TookNanos = -1
	running.Spec.URI += "\x1b[2J\u202e"
	h.Show(screen.ToPicture{Journey: running, Step: at})
	h.Shows("Running, stop 6 of 7", "nothing yet")
	h.Sizes()
	h.Press("n")
	h.Shows("It still runs.")
	h.Show(screen.ToPicture{Journey: &v1alpha1.Journey{}, Step: -1})
	h.Sizes()
	if h.Press("v"); len(h.Complained) != 1 || s.at != 0 {
		t.Errorf("%q", h.Complained)
	}
}
