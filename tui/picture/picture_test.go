package picture

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

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

// shown is the screen, and the journeys that core/story and tui/pane have in their tests.
func shown(t *testing.T) (*screentest.Host, *Screen, map[string]*v1alpha1.Journey) {
	t.Helper()
	return shownBy(t, tuitest.New(t))
}

func shownBy(t *testing.T, server http.Handler) (*screentest.Host, *Screen, map[string]*v1alpha1.Journey) {
	t.Helper()
	h := screentest.New(t, sources{server})
	s := New(h, func(shown ...*v1alpha1.Journey) tea.Cmd {
		h.Said = append(h.Said, "save")
		for _, j := range shown {
			h.Said[len(h.Said)-1] += " " + j.Name
		}
		return nil
	})
	h.Attach(s)
	all := map[string]*v1alpha1.Journey{}
	for _, file := range []string{"../../core/story/testdata/journeys.json", "../../core/story/testdata/gets.json", "../pane/testdata/journeys.json"} {
		for _, j := range tuitest.Recorded(t, file) {
			all[j.Name] = j
		}
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
	if s.at != 6 || s.last().stop().Box != story.Etcd {
		t.Errorf("six keys led to stop %d: %+v", s.at, s.last().stop())
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
	if s.at != s.length()-1 {
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

// answering is a server whose objects' answers name a journey.
type answering struct {
	http.Handler
	asked *[]string
}

func (a answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/v1/") {
		*a.asked = append(*a.asked, r.Method+" "+r.URL.RequestURI())
		w.Header().Set("Kx-Journey", "cached")
		return
	}
	a.Handler.ServeHTTP(w, r)
}

// TestBoth draws a read that etcd answers beside one from the cache, and an update beside one that was refused, at each size and in both
// languages, and walks them in step to where they part and on.
func TestBoth(t *testing.T) {
	h, s, all := shown(t)
	reads, writes := screen.ToPicture{Journey: all["get"], Beside: all["cached"]}, screen.ToPicture{Journey: all["rec-7"], Beside: all["rec-8"]}
	for _, size := range []string{"80x24", "120x40", "200x60"} {
		h.Show(reads)
		h.GoldenAt("reads", size)
		h.Show(writes)
		h.GoldenAt("writes", size)
	}
	h.Sizes()
	h.Show(reads)
	h.Shows("They part in the box cacher. A: nobody had asked", "B: resourceVersion 0: whatever the cache has, at 230.", "same as kx trace compare get cached")
	boxes := func() (at [2]story.Box) { return [2]story.Box{s.trips[0].stop().Box, s.trips[1].stop().Box} }
	h.Press("n")
	if at := boxes(); at != [2]story.Box{story.Etcd, story.Client} {
		t.Errorf("after they parted they are in %v", at)
	}
	h.Press("G")
	if at := boxes(); at != [2]story.Box{story.Client, story.Client} {
		t.Errorf("they end in %v", at)
	}
	h.Press("g", "n", "n")
	if at := boxes(); at != [2]story.Box{story.Handler, story.Handler} {
		t.Errorf("before they part they are in %v", at)
	}
	h.Shows("Both come here.")
	h.Press("enter", "A", "enter", "y")
	if len(h.Went) != 2 || h.Went[0] != (screen.ToRequest{Journey: "cached", Step: "handler.get"}) ||
		h.Went[1] != (screen.ToRequest{Journey: "get", Step: "handler.get"}) {
		t.Errorf("%+v", h.Went)
	}
	if len(h.Copied) != 1 || !strings.Contains(h.Copied[0], "\nThey part in the box cacher. A: resourceVersion 0") {
		t.Errorf("%q", h.Copied)
	}
	h.Look.Words = lang.Chinese
	h.Show(writes)
	h.GoldenAt("writes.zh", "80x24")
	h.Sizes()
}

// TestSave saves one request, or both that are drawn, unless they can't be compared.
func TestSave(t *testing.T) {
	h, _, all := shown(t)
	h.Press("w")
	h.Show(screen.ToPicture{Journey: all["get"], Step: -1})
	h.Press("w")
	h.Show(screen.ToPicture{Journey: all["get"], Beside: all["cached"]})
	h.Press("w", "A", "w")
	for _, beside := range []string{"watch", "get"} {
		h.Show(screen.ToPicture{Journey: all["get"], Beside: all[beside]})
		h.Press("w")
	}
	if want := []string{"save get", "save get cached", "save cached get"}; !slices.Equal(h.Said, want) {
		t.Errorf("%q, want %q", h.Said, want)
	}
	for i, want := range []string{"no request is drawn", "watch is a watch, which has no answer to come to: only other requests can be compared",
		"get would be compared with itself"} {
		if len(h.Complained) != 3 || !strings.Contains(h.Complained[i], want) {
			t.Errorf("%q, want %q", h.Complained, want)
		}
	}
}

// TestBothHaveCode has the smallest frame show the line that decided in the second of two requests, and after a swap in the other.
func TestBothHaveCode(t *testing.T) {
	h, s, all := shown(t)
	h.Show(screen.ToPicture{Journey: all["get"], Beside: all["cached"]})
	for range 2 {
		at := s.last().step().DecisionPlace()
		frame := strings.Join(h.Frame(80, 20), "\n")
		for _, want := range []string{fmt.Sprintf("  B  %s:%d  ", at.File, at.Line), fmt.Sprintf("=> %5d  if", at.Line), "They part", "A  The watch", "B  The watch"} {
			if !strings.Contains(frame, want) {
				t.Errorf("%q is missing in\n%s", want, frame)
			}
		}
		h.Press("A")
	}
}

// TestOtherWay sends a read from any state of the cache, draws that below the request, and draws the request alone again.
func TestOtherWay(t *testing.T) {
	var asked []string
	server := tuitest.New(t)
	h, s, all := shownBy(t, answering{server, &asked})
	get, cached := all["get"], all["cached"]
	server.Put(cached)
	h.Show(screen.ToPicture{Journey: get, Step: -1})
	h.Shows("╰ resourceVersion=0")
	h.Press("|")
	h.Shows("[resourceVersion=0]", "demo?resourceVe", "A  GET", "B  GET", "They part in the box cacher.")
	if want := "GET " + cached.Spec.URI; len(asked) != 1 || asked[0] != want || len(s.trips) != 2 {
		t.Errorf("it asked %q for %s, and draws %d requests", asked, want, len(s.trips))
	}
	h.Sizes()
	h.Press("n", "|")
	if len(asked) != 1 || len(s.trips) != 1 || s.last().walk.Journey != get || s.last().stop().Box != story.Etcd || len(h.Complained) != 0 {
		t.Errorf("back at the request: it asked %q, draws %+v, and complained %q", asked, s.trips, h.Complained)
	}
	list := get.DeepCopy()
	list.Spec.Verb = "watch"
	h.Show(screen.ToPicture{Journey: list, Step: -1})
	h.Press("|", "A")
	if len(asked) != 1 || len(h.Complained) != 2 || !strings.Contains(h.Complained[0], "a watch and a dry run have no other way") ||
		!strings.Contains(h.Complained[1], "one request is drawn") {
		t.Errorf("a watch: %q", h.Complained)
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
