package rules

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// answers are what a server answered, as recorded. Watches last until their client leaves.
type answers struct {
	mu      sync.Mutex
	lists   map[string]string // by the last part of the path
	refused string            // the message of a 403 for all that is created
	asked   []string          // what changed something, with its body
}

const breakpoints = `{"kind":"BreakpointList","apiVersion":"kx.dev/v1alpha1","metadata":{"resourceVersion":"10"},"items":[
{"metadata":{"name":"before-the-write","uid":"u1","resourceVersion":"7"},"spec":{"filter":"step:etcd.txn resource:configmaps name:settings","at":"Start","action":"Hold"},
 "status":{"matches":12,"hits":3,"held":1,"missed":2,"lastHit":{"journey":"1f0c2a-7","step":"etcd.txn","time":"2026-03-01T12:04:14.000000Z"}}},
{"metadata":{"name":"t1","uid":"u2","resourceVersion":"3"},"spec":{"filter":"step:store.get","at":"End","action":"Trace","skip":10,"count":1},"status":{"matches":0,"hits":0}}]}`

const faults = `{"kind":"FaultList","apiVersion":"kx.dev/v1alpha1","metadata":{"resourceVersion":"11"},"items":[
{"metadata":{"name":"flaky","uid":"u3","resourceVersion":"9"},"spec":{"filter":"verb:update,patch resource:deployments","effect":"Fail","code":409,"at":"Start","probability":0.3,"seed":7},"status":{"matches":10,"hits":4,"lastHit":{"journey":"1f0c2a-9","step":"rest.update","time":"2026-03-01T12:04:15.000000Z"}}},
{"metadata":{"name":"stale","uid":"u4","resourceVersion":"9"},"spec":{"filter":"resource:configmaps","effect":"StaleCache"},"status":{"matches":1,"hits":1,"lastHit":{"journey":"","step":"cacher.reflect","time":"2026-03-01T12:04:15.000000Z"}}}]}`

const held = `{"kind":"JourneyList","apiVersion":"kx.dev/v1alpha1","metadata":{"resourceVersion":"12"},"items":[
{"metadata":{"name":"1f0c2a-7","resourceVersion":"12"},"spec":{"method":"PUT","uri":"/api/v1/namespaces/default/configmaps/settings","verb":"update","version":"v1","resource":"configmaps","namespace":"default","name":"settings"},
 "status":{"phase":"Held","started":"2026-03-01T12:04:14.000000Z","tookMicros":0,"code":0,"bytes":0,"level":"Steps",
 "held":[{"step":31,"id":"etcd.txn","at":"Start","by":"breakpoint \"before-the-write\"","since":"2026-03-01T12:04:14.000000Z","actions":["next","into","out","continue","delay","fail"]}]}}]}`

const none = `{"metadata":{"resourceVersion":"1"},"items":[]}`

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, api.KX+"/")
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") == "true":
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case r.Method == http.MethodGet:
		_, _ = io.WriteString(w, a.lists[path])
	default:
		body, _ := io.ReadAll(r.Body)
		a.changed(w, r, path, body)
	}
}

func (a *answers) changed(w http.ResponseWriter, r *http.Request, path string, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused != "" && r.Method == http.MethodPost {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "code": 403, "message": path + `.kx.dev "x" is forbidden: ` + a.refused})
		return
	}
	if r.URL.Query().Get("dryRun") == "" {
		var sent struct {
			Spec json.RawMessage `json:"spec"`
		}
		_ = json.Unmarshal(body, &sent)
		a.asked = append(a.asked, fmt.Sprintf("%s %s %s", r.Method, path, sent.Spec))
	}
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusCreated)
	}
	_, _ = w.Write([]byte(`{"metadata":{"name":"x","uid":"new"}}`))
}

func (a *answers) said() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := strings.Join(a.asked, "\n")
	a.asked = nil
	return text
}

func shown(t *testing.T, a *answers) (*screentest.Host, *Screen) {
	t.Helper()
	h := screentest.New(t, a)
	s := New(h, control.New(h.API(), h.Changed, h.Guard))
	h.Attach(s)
	return h, s
}

func recorded() *answers {
	return &answers{lists: map[string]string{"breakpoints": breakpoints, "faults": faults, "journeys": held}}
}

func full(t *testing.T) (*screentest.Host, *Screen, *answers) {
	t.Helper()
	a := recorded()
	h, s := shown(t, a)
	h.Until("all are there", func() bool { return len(s.view.Rules) == 4 && len(s.view.Held) == 1 })
	return h, s, a
}

func TestGoldens(t *testing.T) {
	h, _, _ := full(t)
	h.Golden("rules")
	h.Press("j", "j", "j", "tab")
	h.Shows("4 on, 0 off", "before-the-write", "Fail 409", "Held requests", "1f0c2a-7 update configmaps default settings", "same as kubectl get breakpoints,faults")
	h.Sizes()

	empty := &answers{lists: map[string]string{"breakpoints": none, "faults": none, "journeys": none}, refused: "breakpoints are not allowed on this server: start it with --allow-breakpoints"}
	h, s := shown(t, empty)
	h.Until("it is said that nothing may be made", func() bool { return len(s.view.Refused) == 2 })
	h.Shows("0 on, 0 off", "There are no breakpoints and no faults.", "breakpoints are not allowed on this server: start it with", "No request is held.")
	h.Press("b")
	if len(h.Complained) != 1 || !strings.Contains(h.Complained[0], "--allow-breakpoints") {
		t.Errorf("%q", h.Complained)
	}
	h.Sizes()
}

// TestSent says whose the breakpoints are that hold what Send sent.
func TestSent(t *testing.T) {
	h, s, _ := full(t)
	if _, state := s.Foot(); strings.Contains(state, "Send") {
		t.Errorf("%q", state)
	}
	s.control.MadeBySend("t1")
	h.Run(s.Drain())
	h.Press("j")
	if _, state := s.Foot(); state != " t1 holds the request that Send sent, and goes when that is answered" {
		t.Errorf("%q", state)
	}
	if s.QuitWarning() != "" {
		t.Error("Send says itself what ends when one leaves")
	}
}

// TestMake makes rules, of which the server is told.
func TestMake(t *testing.T) {
	h, s, a := full(t)
	h.Press("b")
	h.Answer("step:etcd.txn (")
	if len(h.Complained) != 1 || len(h.Questions) != 1 || h.Questions[0].Initial != "step:etcd.txn (" {
		t.Fatalf("%q, %+v", h.Complained, h.Questions)
	}
	h.Answer("step:etcd.txn")
	if said := a.said(); said != `POST breakpoints {"filter":"step:etcd.txn","action":"Hold","leaseSeconds":30}` {
		t.Error(said)
	}
	h.Press("t")
	h.Answer("step:store.get")
	if said := a.said(); !strings.Contains(said, `"action":"Trace"`) {
		t.Error(said)
	}
	h.Press("X")
	h.Take("429 Too Many Requests")
	h.Answer("verb:get (")
	h.Answer("verb:get")
	if said := a.said(); said != `POST faults {"filter":"verb:get","effect":"Fail","code":429}` || len(h.Complained) != 2 {
		t.Errorf("%s %q", said, h.Complained)
	}
	h.Press("X")
	h.Take("lag 5s")
	if q := h.Questions[len(h.Questions)-1]; q.Text != "Lag 5s at:" || q.Initial != "verb:watch resource:configmaps" {
		t.Errorf("%+v", q)
	}
	h.Answer("verb:watch user:manager")
	if said := a.said(); said != `POST faults {"filter":"verb:watch user:manager","effect":"Lag","delay":"5s"}` {
		t.Error(said)
	}
	h.Press("X")
	h.Take("keep a cache behind")
	h.Answer("resource:pods")
	if said := a.said(); said != `POST faults {"filter":"resource:pods","effect":"StaleCache"}` {
		t.Error(said)
	}
	h.Press("X")
	h.Take("write it as YAML")
	h.Save(template, nil)
	if said := a.said(); said != `POST faults {"filter":"verb:update,patch resource:configmaps","effect":"Fail","code":409,"probability":1}` {
		t.Error(said)
	}
	for text, want := range map[string]string{
		"":                                 "",
		"kind: Pod":                        "must be Breakpoint or Fault",
		"kind: Fault\nspec: {colour: 1}":   "unknown field",
		"kind: Fault\nspec: {filter: '('}": "column",
		"kind: Breakpoint\nspec: {filter: a -> b}": `column 3: "->" looks at steps to the request's end`,
	} {
		h.Complained = nil
		h.Press("X")
		h.Take("write it as YAML")
		h.Save(text, nil)
		if got := strings.Join(h.Complained, ""); !strings.Contains(got, want) || a.said() != "" {
			t.Errorf("%q: %q", text, got)
		}
	}
	h.Show(screen.ToRules{Filter: "verb:get"})
	if q := h.Questions[len(h.Questions)-1]; q.Initial != "verb:get" {
		t.Errorf("%+v", q)
	}
	if s.QuitWarning() != "" {
		t.Error("what others hold is said to end")
	}
}

// TestChange switches rules off and on, changes and deletes them.
func TestChange(t *testing.T) {
	h, s, a := full(t)
	h.Press("/")
	if h.Questions[0].Initial != "step:etcd.txn resource:configmaps name:settings" {
		t.Errorf("%+v", h.Questions)
	}
	h.Answer("step:etcd.get")
	if said := a.said(); said != "DELETE breakpoints/before-the-write \n"+`POST breakpoints {"filter":"step:etcd.get","at":"Start","action":"Hold","leaseSeconds":30}` {
		t.Error(said)
	}
	h.Press("A")
	if said := a.said(); !strings.Contains(said, `"at":"End"`) {
		t.Error(said)
	}
	h.Press("#")
	h.Answer("10 1")
	if said := a.said(); !strings.Contains(said, `"skip":10,"count":1`) {
		t.Error(said)
	}
	h.Until("the limits are changed", func() bool {
		r, _ := s.selected()
		_, count := r.Counts()
		return count == 1
	})
	for _, wrong := range []string{"1", "a b", "-1 0"} {
		h.Press("#")
		h.Answer(wrong)
	}
	if len(h.Complained) != 3 || a.said() != "" {
		t.Errorf("%q", h.Complained)
	}
	h.Press("e")
	edited := strings.Replace(string(h.Edits[0].Text), "count: 1", "count: 2", 1)
	h.Save(edited, nil)
	if said := a.said(); !strings.Contains(said, `"count":2`) {
		t.Errorf("%s of %s", said, edited)
	}
	h.Press("e")
	h.Save(strings.Replace(edited, "before-the-write", "another", 1), nil)
	if said := a.said(); said != "" {
		t.Error(said)
	}

	h.Press(" ")
	if said := a.said(); said != "DELETE breakpoints/before-the-write " {
		t.Error(said)
	}
	h.Until("it is off", func() bool { return !s.view.Rules[0].On && s.view.Rules[0].Mine })
	data, err := json.Marshal(s.Keep())
	if err != nil || !strings.Contains(string(data), `"name":"before-the-write"`) || strings.Contains(string(data), "leaseSeconds") {
		t.Errorf("%s, %v", data, err)
	}
	h.Press(" ")
	if said := a.said(); !strings.HasPrefix(said, "POST breakpoints") {
		t.Error(said)
	}
	h.Press("delete")
	if said := a.said(); said != "DELETE breakpoints/before-the-write " {
		t.Error(said)
	}
	h.Until("it is gone", func() bool { return len(s.view.Rules) == 3 })
}

// TestHeld lets requests go on, and leads to them.
func TestHeld(t *testing.T) {
	h, s, a := full(t)
	h.Press("enter")
	h.Press("tab", "enter", "y")
	if len(h.Went) != 2 || h.Went[0] != (screen.ToRequest{Journey: "1f0c2a-7", Step: "etcd.txn"}) || h.Went[1] != (screen.ToRequest{Journey: "1f0c2a-7"}) {
		t.Errorf("%+v", h.Went)
	}
	h.Press("c")
	if said := a.said(); said != `POST journeys/1f0c2a-7/step {"action":"continue"}` {
		t.Error(said)
	}
	h.Press("C")
	if said := a.said(); said != `POST journeys/1f0c2a-7/step {"action":"continue","step":31}` {
		t.Error(said)
	}
	h.Press("tab", "G", "enter")
	if len(h.Complained) != 1 || !strings.Contains(h.Complained[0], "cacher.reflect") {
		t.Errorf("%q", h.Complained)
	}
	h.Press("g", "y", "Y")
	if len(h.Copied) != 3 || strings.Count(h.Copied[2], "apiVersion: kx.dev/v1alpha1") != 4 || !strings.HasPrefix(h.Copied[2], "kubectl create -f - <<'END_OF_RULES'\napiVersion") || !strings.HasSuffix(h.Copied[2], "\nEND_OF_RULES\n") || !strings.Contains(h.Copied[1], "name: before-the-write") {
		t.Errorf("%q", h.Copied)
	}
	h.Click(3, 3, 0)
	if s.rules.Cursor() != 1 {
		t.Errorf("a click on the second rule: %d", s.rules.Cursor())
	}
	h.Click(3, 35, 0)
	if !s.onHeld() {
		t.Error("a click on what is held")
	}
	h.Press("z")
	if frame := strings.Join(h.Frame(80, 20), "\n"); strings.Contains(frame, "Breakpoints and faults") {
		t.Errorf("zoomed, the held requests do not have the place of all:\n%s", frame)
	}
	h.Press("esc", "esc")
	if s.onHeld() || s.Zoomed() {
		t.Error("esc does not go back from zoom and from the held requests")
	}
}
