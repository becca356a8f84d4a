package list

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/session"
	"github.com/kx-apiserver/kx/tui/theme"
)

// shown is a list of the recorded journeys.
func shown(t testing.TB, more ...*v1alpha1.Journey) *Pane {
	t.Helper()
	return shownOf(t, 100, more...)
}

func shownOf(t testing.TB, capacity int, more ...*v1alpha1.Journey) *Pane {
	t.Helper()
	changed := make(chan struct{}, 1)
	s := session.NewArchive(append(tuitest.Recorded(t, "../testdata/journeys.json"), more...), trace.Catalogue{}, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}, func() {})
	t.Cleanup(s.Close)
	ring := session.NewRing(capacity)
	s.Follow("")
	for ring.Len() == 0 {
		<-changed
		ring.Apply(s.Drain())
	}
	p := New(ring, theme.Plain, time.UTC)
	p.SetSize(120, 12)
	p.Sync()
	return p
}

// BenchmarkRows draws a list of 10,000 requests, as many as the screen keeps of a flood, one row further each time.
func BenchmarkRows(b *testing.B) {
	recorded := tuitest.Recorded(b, "../testdata/journeys.json")
	var many []*v1alpha1.Journey
	for i := range 10_000 {
		j := *recorded[i%len(recorded)]
		j.Name = fmt.Sprint("rec-", 100+i)
		many = append(many, &j)
	}
	p := shownOf(b, 20_000, many...)
	for _, size := range [][2]int{{60, 6}, {120, 20}, {200, 30}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			p.SetSize(size[0], size[1])
			p.Handle(keys.Bottom)
			for i := 0; b.Loop(); i++ {
				p.Handle(map[bool]keys.ID{true: keys.Up, false: keys.Down}[i%1000 < 500])
				p.Sync()
				p.Render(true)
			}
		})
	}
}

func TestGolden(t *testing.T) {
	p := shown(t)
	p.ring.Mark("rec-7")
	p.ring.Mark("rec-16")
	at := func(w, h int) []string {
		p.SetSize(w, h)
		p.Sync()
		return p.Render(true)
	}
	screentest.GoldenPane(t, "120", at(120, 22))
	screentest.Shows(t, "60", at(60, 5), "17 of 17", "# verb resource ns/name code took", "rec-18 create deployments.ap… default/web 201", "> rec-19 update")
	screentest.Shows(t, "80", at(80, 14), "# time verb resource ns/name code took", "! rec-8 03:04:13 update configmaps default/demo 409", "= rec-15", "> rec-19")
	wide := at(200, 22)
	screentest.Shows(t, "200", wide, "kx-admin", "! rec-6", "default/nope", "deployments.apps", "crontabs.recorded.example.com", "> rec-19")
	screentest.Grows(t, at(80, 22), at(120, 22), wide)
}

func TestObject(t *testing.T) {
	for _, test := range []struct {
		spec v1alpha1.JourneySpec
		want string
	}{
		{v1alpha1.JourneySpec{Namespace: "default", Name: "a", Resource: "pods"}, "default/a"},
		{v1alpha1.JourneySpec{Namespace: "default", Name: "default", Resource: "namespaces"}, "default"},
		{v1alpha1.JourneySpec{Verb: "watch", Namespace: "x", Resource: "pods", URI: "/api/v1/pods?watch=true&resourceVersion=12"}, "x/ from 12"},
		{v1alpha1.JourneySpec{Verb: "watch", Resource: "pods", URI: "/api/v1/pods?resourceVersion=%1b%5b2J"}, "from \uFFFD[2J"},
		{v1alpha1.JourneySpec{Verb: "watch", Resource: "pods", URI: "/api/v1/pods?resourceVersion=%zz"}, ""},
		{v1alpha1.JourneySpec{}, ""},
	} {
		if got := object(&test.spec); got != test.want {
			t.Errorf("%+v: %q, want %q", test.spec, got, test.want)
		}
	}
}

func TestFind(t *testing.T) {
	p := shown(t)
	if !p.Following() {
		t.Fatal("a new list does not follow")
	}
	for _, want := range []string{"rec-8", "rec-8"} {
		if !p.Find("409") || p.Selected().Name != want || p.Following() {
			t.Errorf("the cursor is on %s", p.Selected().Name)
		}
	}
	if p.Find("no such text") {
		t.Error("found what is not there")
	}
}

func TestSizes(t *testing.T) {
	p := shown(t, &v1alpha1.Journey{}, &v1alpha1.Journey{Spec: v1alpha1.JourneySpec{URI: strings.Repeat("日本\x1b", 100), User: escapetest.Any(), Verb: "watch", Name: escapetest.Any()}})
	screentest.PaneSizes(t, "list", func(w, h int) []string {
		p.SetSize(w, h)
		p.Sync()
		p.Handle(keys.Up)
		return p.Render(true)
	})
	empty := New(session.NewRing(1), theme.Plain, time.UTC)
	empty.SetEmpty([]string{"nothing yet"})
	screentest.PaneSizes(t, "an empty list", func(w, h int) []string { empty.SetSize(w, h); empty.Sync(); return empty.Render(false) })
}

// TestWatchError says in its row with what a watch ended whose answer had begun with 200.
func TestWatchError(t *testing.T) {
	gone := &v1alpha1.Journey{}
	gone.Name, gone.Spec.Verb, gone.Spec.Resource, gone.Spec.URI = "rec-99", "watch", "pods", "/api/v1/pods?watch=true&resourceVersion=12"
	gone.Status.Phase, gone.Status.Code, gone.Status.WatchError = v1alpha1.JourneyComplete, 200, 410
	row := ""
	for _, line := range shown(t, gone).Render(true) {
		if strings.Contains(line, "rec-99") {
			row = line
		}
	}
	if !strings.HasPrefix(row, "┃>!   rec-99") || !strings.Contains(row, "from 12 ERROR 410 ") || !strings.Contains(row, " 200 ") {
		t.Errorf("%q", row)
	}
}

// TestUnseen does not cut a name for the sake of rows that have been scrolled away.
func TestUnseen(t *testing.T) {
	long := &v1alpha1.Journey{}
	long.Name, long.Spec.Verb, long.Spec.Resource, long.Spec.Name = "rec-0", "get", strings.Repeat("r", 60), strings.Repeat("n", 60)
	p := shown(t, long)
	p.SetSize(120, 4)
	p.Handle(keys.Top)
	for range p.ring.Len() {
		p.Render(true)
		p.Handle(keys.Down)
	}
	p.Handle(keys.Up)
	for i := range p.ring.Len() {
		p.scroll.Cursor = i
		p.updateSelection()
		if row := p.ring.At(i); row.Spec.Group == "recorded.example.com" && !strings.Contains(strings.Join(p.Render(true), ""), "crontabs.recorded.example.com ") {
			t.Errorf("%s is cut: %s", row.Name, p.Render(true))
		}
	}
}

// TestColumns shares the width by what the rows need.
func TestColumns(t *testing.T) {
	long := cells{id: "642e7f-1", verb: "create", resource: "customresourcedefinitions.apiextensions.k8s.io", object: "a.b", code: "201", took: "12ms", user: "kx-admin"}
	need := least
	need.widen(long)
	if c := columnsFor(118, need); c.resource != len(long.resource) || c.object < len(long.object) || c.user == 0 || c.time == 0 {
		t.Errorf("the name is cut although there is room: %+v", c)
	}
	uri := "/apis/apiextensions.k8s.io/v1/namespaces/default/something?with=parameters"
	need.widen(cells{resource: uri})
	if c := columnsFor(150, need); c.resource+1+c.object < len(uri) || c.resource != len(long.resource) {
		t.Errorf("a path has not the place of both: %+v", c)
	}
	need.widen(cells{verb: "deletecollection"})
	if c := columnsFor(118, need); c.verb != least.verb || c.resource != len(long.resource) {
		t.Errorf("a long verb takes from the names: %+v", c)
	}
	if c := columnsFor(160, need); c.verb != len("deletecollection") {
		t.Errorf("a long verb is cut although there is room: %+v", c)
	}
	for w := range 200 {
		if c := columnsFor(w, need); draw.Width(c.line("", long)) > max(w, 40) {
			t.Errorf("%d: %+v", w, c)
		}
	}
}
