package capture

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/session"
)

// tree is a call of two, the first of which calls one.
//
//	0 ─┬─ 1 ── 2
//	   └─ 3
//	4
func TestStepAfter(t *testing.T) {
	tree := []v1alpha1.Step{{Parent: -1}, {Parent: 0}, {Parent: 1}, {Parent: 0}, {Parent: -1}}
	for _, tt := range []struct {
		at              int
		next, into, out int
	}{{0, 4, 1, -1}, {1, 3, 2, 4}, {2, 3, 3, 3}, {3, 4, 4, 4}, {4, -1, -1, -1}, {-1, -1, -1, -1}, {9, -1, -1, -1}} {
		for action, want := range map[v1alpha1.JourneyAction]int{
			v1alpha1.ActionNext: tt.next, v1alpha1.ActionInto: tt.into, v1alpha1.ActionOut: tt.out,
		} {
			if got := stepAfter(tree, tt.at, action); got != want {
				t.Errorf("%s from %d: %d, want %d", action, tt.at, got, want)
			}
		}
	}
}

func TestMergePatch(t *testing.T) {
	before := []byte(`{"data":{"a":"1","b":"2"},"metadata":{"name":"x"}}`)
	for edited, want := range map[string]string{
		"data: {a: '1', c: '3'}\nmetadata: {name: x}": `{"data":{"b":null,"c":"3"}}`,
		"data: {a: '1', b: '2'}\nmetadata: {name: x}": `{}`,
		"data: {a: 1, a: 2}":                          "already set",
	} {
		patch, err := mergePatch(before, []byte(edited))
		if err == nil && string(patch) != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", edited, patch, err)
		}
	}
}

// holding is a server whose journeys are recorded, one of them held, and that writes down what it is told.
type holding struct {
	*tuitest.Server

	mu   sync.Mutex
	told []string
	// becomes is what the held journey is, after it was told something.
	becomes *v1alpha1.Journey
}

func (s *holding) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, api.KX+"/")
	switch {
	case strings.HasPrefix(path, "breakpoints") || strings.HasPrefix(path, "faults"), r.Method != http.MethodGet:
		s.tell(w, r, path)
	default:
		s.Server.ServeHTTP(w, r)
	}
}

func (s *holding) tell(w http.ResponseWriter, r *http.Request, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet {
		if r.URL.Query().Get("watch") == "true" {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			s.mu.Unlock()
			<-r.Context().Done()
			s.mu.Lock()
			return
		}
		_, _ = fmt.Fprint(w, `{"metadata":{"resourceVersion":"1"},"items":[]}`)
		return
	}
	var sent struct {
		Spec json.RawMessage `json:"spec"`
	}
	_ = json.NewDecoder(r.Body).Decode(&sent)
	if r.URL.Query().Get("dryRun") == "" {
		s.told = append(s.told, r.Method+" "+path+" "+string(sent.Spec))
	}
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusCreated)
	}
	if strings.HasSuffix(path, "/step") {
		_ = json.NewEncoder(w).Encode(s.becomes)
		return
	}
	_, _ = fmt.Fprint(w, `{"metadata":{"uid":"u"},"status":{"revision":7}}`)
}

func (s *holding) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(s.told, "\n")
	s.told = nil
	return text
}

// heldJourney is a recorded update, held at a step.
func heldJourney(j *v1alpha1.Journey, version, id string) *v1alpha1.Journey {
	j = j.DeepCopy()
	j.ResourceVersion = version
	for i, step := range j.Status.Steps {
		if step.ID != id {
			continue
		}
		j.Status.Phase = v1alpha1.JourneyHeld
		j.Status.Held = []v1alpha1.HeldStep{{Step: int32(i), ID: id, At: v1alpha1.AtStart, By: `breakpoint "b1"`, Since: metav1.MicroTime{Time: j.Status.Started.Time},
			Actions: []v1alpha1.JourneyAction{v1alpha1.ActionNext, v1alpha1.ActionFail, v1alpha1.ActionEdit}}}
		return j
	}
	panic("no step " + id)
}

func isUpdate(j *v1alpha1.Journey) bool { return j.Spec.Verb == "update" && j.Status.Code == 200 }

// TestWouldStop says where a held request would stop next: by itself what it runs past, and with one like it the steps.
func TestWouldStop(t *testing.T) {
	h, s, server := held(t)
	hints := func() string {
		return strings.Join([]string{s.wouldStop(v1alpha1.ActionNext), s.wouldStop(v1alpha1.ActionInto), s.wouldStop(v1alpha1.ActionOut)}, ", ")
	}
	if got := hints(); got != "past it, into it, out of store.try-update" {
		t.Error(got)
	}
	for i, step := range s.open.journey.Status.Steps {
		if step.ID == "handler.update" {
			s.steps.SelectStep(i)
			s.open.journey.Status.Held[0].Step = int32(i)
		}
	}
	if got := hints(); got != "to its end, into it, " {
		t.Error(got)
	}
	s.open.journey.Status.Held = []v1alpha1.HeldStep{heldJourney(server.becomes, "", "store.before-update").Status.Held[0]}
	like := over(server.becomes)
	like.Name = "like"
	server.Put(like)
	h.Until("it is there", func() bool { return s.ring.Index("like") >= 0 })
	s.precedent = precedent{}
	h.Press("j", "k") // it is looked for when a request is opened
	h.Until("one like it is known", func() bool { return s.precedent.journey != nil && s.precedent.of == s.open.id })
	if got := hints(); got != "to etcd3.encode, to etcd3.encode, to etcd3.encode" {
		t.Error(got)
	}
	h.Size(160, 36)
	if _, state := s.Foot(); !strings.HasSuffix(state, "next as in like") {
		t.Errorf("%q", state)
	}
	h.Press("n") // to etcd.txn
	if got := hints(); got != "to etcd3.decode, to etcd3.decode, to handler.encode" {
		t.Error(got)
	}
	h.Press("j")
	if got := hints(); got != ", , " {
		t.Errorf("of a request that is over: %s", got)
	}
	if sameStep([]v1alpha1.Step{{ID: "a"}, {ID: "a"}}, 1, []v1alpha1.Step{{ID: "a"}}) != -1 || sameStep(nil, 1, nil) != -1 {
		t.Error("a step is found that the other request did not take")
	}
}

// over is a journey that was held, after its end.
func over(j *v1alpha1.Journey) *v1alpha1.Journey {
	j = j.DeepCopy()
	j.ResourceVersion = ""
	j.Status.Phase, j.Status.Held = v1alpha1.JourneyComplete, nil
	return j
}

func held(t *testing.T) (*screentest.Host, *Screen, *holding) {
	t.Helper()
	server := &holding{Server: tuitest.New(t)}
	recorded := tuitest.Recorded(t, "../testdata/journeys.json")
	update := recorded[slices.IndexFunc(recorded, isUpdate)]
	server.Put(heldJourney(update, "", "store.before-update"))
	server.becomes = heldJourney(update, "100", "etcd.txn")
	h := screentest.New(t, server)
	s := New(h, control.New(h.API(), h.Changed, h.Guard), Options{})
	t.Cleanup(s.held.Close)
	h.Attach(s)
	h.Until("it is open", func() bool {
		return s.state.Phase == session.Live && s.open.journey != nil && len(s.held.View().Held) == 1
	})
	return h, s, server
}

// TestHeldRequest steps a held request: the server is told, and the cursor follows.
func TestHeldRequest(t *testing.T) {
	h, s, server := held(t)
	if why := s.whyNotHeld(); why != "" {
		t.Fatal(why)
	}
	at := s.open.journey.Status.Held[0].Step
	if got := s.steps.Selected(); got != int(at) {
		t.Errorf("the cursor is on step %d, and the request held at %d", got, at)
	}
	_, state := s.Foot()
	for _, want := range []string{"PAUSED", s.open.id, "store.before-update", "x steal the revision", "X break this step", "e edit object"} {
		if !strings.Contains(state, want) {
			t.Errorf("%q is not in %q", want, state)
		}
	}
	if facts := s.Facts(); !strings.HasPrefix(facts[0], "|| held 1 ") {
		t.Errorf("%q", facts)
	}
	h.Press("n")
	if said := server.said(); said != fmt.Sprintf(`POST journeys/%s/step {"action":"next","step":%d}`, s.open.id, at) {
		t.Error(said)
	}
	if got := s.open.journey.Status.Steps[s.steps.Selected()].ID; got != "etcd.txn" {
		t.Errorf("the cursor did not follow: %s", got)
	}
	h.Press("i", "o", "c")
	if said := server.said(); strings.Count(said, "\n") != 2 || !strings.Contains(said, `"into"`) || !strings.Contains(said, `"out"`) || !strings.Contains(said, `"continue"`) {
		t.Error(said)
	}
	for _, size := range [][2]int{{60, 11}, {80, 20}, {120, 36}} {
		h.Frame(size[0], size[1])
	}
}

// TestFollowingWaits has requests come while one is held under a cursor that follows, and after the held one was told to go on.
func TestFollowingWaits(t *testing.T) {
	h, s, server := held(t)
	recorded := tuitest.Recorded(t, "../testdata/journeys.json")
	isGet := func(j *v1alpha1.Journey) bool { return j.Spec.Verb == "get" }
	another := recorded[slices.IndexFunc(recorded, isGet)]
	name, n := s.open.id, s.ring.Len()
	server.Put(over(another))
	h.Until("the other is listed", func() bool { return s.ring.Len() == n+1 })
	if !s.list.Following() || s.list.Selected().Name != name {
		t.Errorf("the cursor went to %s, following %v", s.list.Selected().Name, s.list.Following())
	}
	if why := s.whyNotHeld(); why != "" {
		t.Error(why)
	}
	server.becomes = over(server.becomes)
	server.becomes.ResourceVersion = "100"
	h.Press("c")
	if s.list.Following() || s.list.Selected().Name != name {
		t.Errorf("a step leaves the cursor on %s, following %v", s.list.Selected().Name, s.list.Following())
	}
}

// TestWhatIf has things happen to a held request.
func TestWhatIf(t *testing.T) {
	h, s, server := held(t)
	name, step := s.open.id, s.open.journey.Status.Held[0].Step
	command := func(spec string) string { return fmt.Sprintf("POST journeys/%s/step %s", name, spec) }
	h.Press("x")
	if said := server.said(); !strings.HasPrefix(said, "PATCH /api/v1/namespaces/default/configmaps/") {
		t.Error(said)
	}
	h.Press("X")
	if h.Menu.Title != fmt.Sprintf("What goes wrong at %d store.before-update of %s", step+1, name) {
		t.Errorf("%q", h.Menu.Title)
	}
	h.Take("409 Conflict")
	if said := server.said(); said != command(fmt.Sprintf(`{"action":"fail","step":%d,"code":409}`, step)) {
		t.Error(said)
	}
	for _, test := range [][2]string{{"250ms", `{"action":"delay","step":%d,"delay":"250ms"}`}, {"422", `{"action":"fail","step":%d,"code":422}`}} {
		h.Press("X")
		h.Take(test[0])
		if said := server.said(); said != command(fmt.Sprintf(test[1], s.open.journey.Status.Held[0].Step)) {
			t.Error(said)
		}
	}
	h.Press("X")
	h.Take("lose the race")
	if said := server.said(); !strings.HasPrefix(said, "PATCH /api/v1/namespaces/default/configmaps/") {
		t.Error(said)
	}
	h.Press("X")
	h.Take("time out after the commit")
	if said := server.said(); !strings.HasPrefix(said, `POST faults {"filter":"id:`) || !strings.Contains(said, `"effect":"TimeoutAfterCommit"`) || !strings.Contains(said, `"continue"`) {
		t.Error(said)
	}
	h.Press("X")
	h.Take("never")
	if len(h.Complained) != 1 {
		t.Errorf("%q", h.Complained)
	}
	h.Press("L")
	if said := server.said(); said != `POST faults {"filter":"resource:configmaps","effect":"StaleCache"}` {
		t.Error(said)
	}
	h.Press("ctrl+k")
	h.Answer("")
	if said := server.said(); !strings.HasPrefix(said, "POST compactions") || !strings.Contains(h.Said[len(h.Said)-1], "before revision 7") {
		t.Errorf("%s %q", said, h.Said)
	}
	h.Press("K")
	if len(h.Complained) != 2 || !strings.Contains(h.Complained[1], "no watch") {
		t.Errorf("%q", h.Complained)
	}
}

// TestRunEnds: the end of a request that was let go on says what became of it.
func TestRunEnds(t *testing.T) {
	for name, test := range map[string]struct {
		keys []string
		code int32
		want string
	}{
		"let go on":            {[]string{"c"}, 200, "ended with 200"},
		"stolen, and refused":  {[]string{"x", "c"}, 409, "ended with 409: it met the conflict"},
		"stolen, for nothing":  {[]string{"x", "c"}, 200, "ended with 200: it met no conflict"},
		"another layer missed": {[]string{"}"}, 200, "ended with 200, and never came to another layer"},
	} {
		t.Run(name, func(t *testing.T) {
			h, s, server := held(t)
			server.becomes = over(server.becomes)
			server.becomes.ResourceVersion, server.becomes.Status.Code = "100", test.code
			id := s.open.id
			h.Press(test.keys...)
			h.Until("it is over", func() bool {
				return strings.Contains(strings.Join(append(h.Said, h.Complained...), "\n"), id+" "+test.want)
			})
		})
	}
}

// TestHintsAtFilter: at one of the filters the hints lead past them.
func TestHintsAtFilter(t *testing.T) {
	_, s, _ := held(t)
	if got := s.pastFiltersHint(); got != "" {
		t.Errorf("behind the filters: %q", got)
	}
	j := s.open.journey
	at := slices.IndexFunc(j.Status.Steps, func(step v1alpha1.Step) bool { return step.Layer == filterLayer })
	j.Status.Held[0].Step, j.Status.Held[0].ID = int32(at), j.Status.Steps[at].ID
	if got := s.pastFiltersHint(); got != "past the filters" || s.runToHint() != "run to a step" {
		t.Errorf("at a filter: %q, %q", got, s.runToHint())
	}
}

// TestNoConflictAnyMore: after its write a request can't lose its revision.
func TestNoConflictAnyMore(t *testing.T) {
	_, s, _ := held(t)
	if why := s.whyNoSteal(); why != "" {
		t.Error(why)
	}
	j := s.open.journey
	j.Status.Held[0].Step = int32(len(j.Status.Steps) - 1)
	if why := s.whyNoSteal(); !strings.Contains(why, "no conflict can come any more") {
		t.Errorf("%q", why)
	}
}

// TestBreakUnheld has the next request like one that is over meet a fault, at the step under the cursor.
func TestBreakUnheld(t *testing.T) {
	h, s, server := held(t)
	server.Put(server.becomes, over(server.becomes))
	h.Until("it is over", func() bool { return s.list.Selected().Status.Phase == v1alpha1.JourneyComplete })
	h.Press("X")
	h.Take("wait 1s")
	if said := server.said(); said != `POST faults {"filter":"verb:update resource:configmaps ns:default name:demo","effect":"Delay","delay":"1s","count":1}` {
		t.Error(said)
	}
	h.Press("enter", "n")
	at := s.open.journey.Status.Steps[s.steps.Selected()].ID
	h.Press("X")
	h.Take("time out")
	if said := server.said(); !strings.HasPrefix(said, `POST faults {"filter":"step:`+at+` verb:update`) || !strings.Contains(said, "TimeoutAfterCommit") {
		t.Errorf("%s of %s", said, at)
	}
	h.Press("X")
	h.Take("keep the cache behind")
	if said := server.said(); !strings.Contains(said, "StaleCache") {
		t.Error(said)
	}
}

// TestLagHeld has the next event of a held watch come later.
func TestLagHeld(t *testing.T) {
	h, s, server := held(t)
	recorded := tuitest.Recorded(t, "../testdata/journeys.json")
	watch := recorded[slices.IndexFunc(recorded, func(j *v1alpha1.Journey) bool { return j.Spec.Verb == "watch" })]
	watch = heldJourney(watch, "200", "handler.watch")
	server.Put(watch)
	h.Until("it is there", func() bool { return s.ring.Len() == 2 })
	h.Show(screen.ToRequest{Journey: watch.Name})
	h.Until("it is open", func() bool { return s.open.journey != nil && s.open.journey.Name == watch.Name })
	server.becomes = watch
	h.Press("X")
	h.Take("lag 5s")
	want := fmt.Sprintf(`POST faults {"filter":"id:%s","effect":"Lag","delay":"5s","count":1}`, watch.Name)
	if said := server.said(); !strings.HasPrefix(said, want) || !strings.Contains(said, `"continue"`) {
		t.Errorf("%s, want %s and that it goes on", said, want)
	}
}

// TestEditInFlight sends what was changed of the object, and nothing else.
func TestEditInFlight(t *testing.T) {
	h, _, server := held(t)
	h.Press("e")
	if len(h.Edits) == 0 {
		t.Fatalf("%q", h.Complained)
	}
	text := string(h.Edits[0].Text)
	if !strings.Contains(text, "kind: ConfigMap") && !strings.Contains(text, "metadata:") {
		t.Errorf("%s", text)
	}
	h.Save(text+"\nextra: \"1\"\n", nil)
	if said := server.said(); !strings.Contains(said, `"action":"edit"`) || !strings.Contains(said, `"patch":{"extra":"1"}`) {
		t.Error(said)
	}
}

// TestBreakHere asks with a filter for the step under the cursor.
func TestBreakHere(t *testing.T) {
	h, s := shown(t)
	h.Show(screen.ToRequest{Journey: firstUpdate(s), Step: "etcd.txn"})
	h.Until("the step is selected", func() bool {
		at := s.steps.Selected()
		return s.open.journey != nil && at >= 0 && s.open.journey.Status.Steps[at].ID == "etcd.txn" && s.Context() == keys.Steps
	})
	h.Press("b")
	if len(h.Questions) != 1 || !strings.HasPrefix(h.Questions[0].Initial, "step:etcd.txn verb:update resource:configmaps ns:default name:") {
		t.Errorf("%+v %q", h.Questions, h.Complained)
	}
	h.Press("B")
	if len(h.Went) != 1 || h.Went[0] != (screen.ToRules{}) {
		t.Errorf("%+v", h.Went)
	}
	// It is not held: the keys move the cursor.
	at := s.steps.Selected()
	h.Press("o")
	if now := s.steps.Selected(); now <= at {
		t.Errorf("out of step %d: %d", at, now)
	}
	h.Press("c")
	if last := h.Complained[len(h.Complained)-1]; !strings.Contains(last, "not held") {
		t.Errorf("%q", h.Complained)
	}
}

func firstUpdate(s *Screen) string {
	for i := range s.ring.Len() {
		if row := s.ring.At(i); row.Spec.Verb == "update" && row.Status.Code == 200 {
			return row.Name
		}
	}
	return ""
}

// TestKeysWhileItRuns presses keys while a request has not come to where it was sent: it is told them there, one by one.
func TestKeysWhileItRuns(t *testing.T) {
	h, s, server := held(t)
	name := s.open.id
	runs := s.run(toChange)
	h.Press("n", ")")
	s.open.journey.Status.Held = nil // as the live list shows it on its way
	h.Press("c")
	if len(h.Complained) > 0 || server.said() != "" {
		t.Errorf("before the answer: %q", h.Complained)
	}
	h.Run(runs)
	var actions []string
	for line := range strings.Lines(server.said()) {
		var spec v1alpha1.JourneyCommandSpec
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "POST journeys/"+name+"/step ")), &spec); err != nil {
			t.Fatal(err)
		}
		actions = append(actions, string(spec.Action))
	}
	if got := slices.Compact(actions); !slices.Equal(got, []string{"into", "next", "into", "continue"}) {
		t.Errorf("it was told %v", got)
	}
}

// TestKeysOfAnother presses keys for another request while the first runs, and comes back: the first is not told these.
func TestKeysOfAnother(t *testing.T) {
	h, s, _ := held(t)
	runs := s.goOn(v1alpha1.ActionNext)
	s.orders = orders{id: "another", busy: true, queue: []func() tea.Cmd{func() tea.Cmd {
		t.Error("the key of another request is told to the first")
		return nil
	}}}
	h.Run(runs)
	if !s.orders.busy || len(s.orders.queue) != 1 {
		t.Errorf("the other request lost its keys: %+v", s.orders)
	}
}
