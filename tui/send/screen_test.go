package send

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

func start(t *testing.T) (*screentest.Host, *Screen, *fakeServer) {
	t.Helper()
	f := newFakeServer(t)
	h := screentest.New(t, f)
	s := New(h, nil)
	s.now = func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }
	h.Attach(s)
	return h, s, f
}

func answered(h *screentest.Host, s *Screen) {
	h.Until("the answer is there", func() bool { return s.shown != nil && s.shown.answer.Ended })
}

func saw(t *testing.T, h *screentest.Host, want ...string) {
	t.Helper()
	frame := strings.Join(h.Frame(200, 56), "\n")
	for _, w := range want {
		if !strings.Contains(frame, w) {
			t.Errorf("the screen does not show %q:\n%s", w, frame)
		}
	}
}

// TestStory creates an object, sees the answer, updates it held, and finds both in the history.
func TestStory(t *testing.T) {
	h, s, f := start(t)
	h.Shows("> verb < create >", "resource v1/configmaps", "namespace default", "Body: ConfigMap v1", "no problem found", "1 apiVersion: v1", "6 data: # map of string", "same as kubectl create -f - -n default", "POST /api/v1/namespaces/default/configmaps")
	h.Press("r")
	answered(h, s)
	if got := f.sent(); !strings.HasPrefix(got, "POST /api/v1/namespaces/default/configmaps application/yaml\napiVersion: v1\nkind: ConfigMap\n") {
		t.Errorf("sent: %s", got)
	}
	h.Golden("created")
	h.Press("l")
	saw(t, h, "[Headers]", "Kx-Journey: 3f2a1c-17")
	h.Press("l")
	saw(t, h, `{"kind":"ConfigMap"`)
	h.Press("h", "h", "enter")
	if len(h.Went) != 1 || h.Went[0] != (screen.ToRequest{Journey: "3f2a1c-17"}) {
		t.Errorf("went to %v", h.Went)
	}

	// An update of it, held.
	h.Press("esc", "g", "l", "l") // create → update is two to the left: list, watch, create, update
	for s.form.verb != request.Update {
		h.Press("h")
	}
	h.Press("j", "j", "j", "enter")
	h.Type("a")
	h.Press("enter", "ctrl+r")
	if got := s.body.String(); !strings.Contains(got, "k: v") || strings.Contains(got, "managedFields") {
		t.Errorf("loaded: %s", got)
	}
	h.Press("R")
	h.Until("it is held", func() bool { return len(h.Went) == 2 })
	if h.Went[1] != (screen.ToRequest{Journey: "3f2a1c-9"}) || s.QuitWarning() == "" {
		t.Errorf("went to %v", h.Went[1])
	}
	h.Shows("update configmaps/a -n default", "|| held at filter.audit journey 3f2a1c-9 (enter: step it)", "PUT /api/v1/namespaces/default/configmaps/a")
	close(f.held)
	answered(h, s)
	if got := f.sent(); !strings.HasPrefix(got, "PUT /api/v1/namespaces/default/configmaps/a application/yaml\n") || s.QuitWarning() != "" {
		t.Errorf("sent: %s", got)
	}

	// The first once more, from the history.
	h.Press("tab")
	h.Press("j", "r")
	answered(h, s)
	if got := f.sent(); !strings.HasPrefix(got, "POST ") || len(s.history.entries) != 3 {
		t.Errorf("%d entries, sent: %s", len(s.history.entries), got)
	}
	h.Press("tab", "j", "enter")
	if s.form.verb != request.Update || s.form.name != "a" {
		t.Errorf("opened %+v", s.form)
	}
	h.Shows("History", "201 create configmaps", "200 update configmaps/a")
}

func TestFind(t *testing.T) {
	h, s, _ := start(t)
	h.Press("/")
	h.Type("cron")
	h.Shows("cron▏", "a part of a name, a short name, a kind or a group", "> crontabs ct CronTab", "customresourcedefinitions crd,crds CustomResourceDefinition")
	h.Press("enter")
	if s.form.resource != "stable.example.com/v1/crontabs" || !strings.Contains(s.body.String(), "kind: CronTab") || !strings.Contains(s.body.String(), "cronSpec") {
		t.Errorf("%+v\n%s", s.form, s.body.String())
	}
	h.Press("/")
	h.Type("zzz")
	h.Press("enter")
	if len(h.Complained) != 1 || s.picker == nil {
		t.Errorf("complained: %q", h.Complained)
	}
	h.Press("esc")
	if s.picker != nil {
		t.Error("esc does not close the picker")
	}
	// A namespace, from those that there are.
	h.Press("g", "j", "j", "enter", "ctrl+u")
	h.Type("kube")
	h.Press("tab", "enter")
	if s.form.namespace != "kube-system" || !strings.Contains(s.body.String(), "namespace: kube-system") {
		t.Errorf("%+v\n%s", s.form, s.body.String())
	}
	// One of the cluster's has none.
	h.Press("/")
	h.Type("ns")
	h.Press("enter")
	if s.form.namespace != "" || !strings.Contains(s.body.String(), "kind: Namespace") {
		t.Errorf("%+v", s.form)
	}
	// Any value can be typed, options and headers too.
	s.Focus(requestContext)
	h.Press("G", "enter")
	h.Type("kx-hold: off")
	h.Press("enter", "G", "k", "enter")
	h.Type("pretty=true")
	h.Press("enter")
	r := s.request()
	if r.Header["Kx-Hold"][0] != "off" || r.Query.Get("pretty") != "true" {
		t.Errorf("%+v", r)
	}
	for s.row().id != headerRow+"Kx-Hold" {
		h.Press("k")
	}
	h.Press("backspace")
	if r := s.request(); len(r.Header) != 0 {
		t.Errorf("%+v", r)
	}
}

// TestRaw writes a request as a method and a path, and sends that.
func TestRaw(t *testing.T) {
	h, s, f := start(t)
	s.load(request.Request{Verb: request.Patch, Patch: request.MergePatch, Resource: "v1/configmaps", Namespace: "default", Name: "a",
		Query: map[string][]string{"dryRun": {"All"}, "x": {"1", "2"}}, Body: `{"data":{}}`})
	s.GoTo(requestPart)
	h.Press("enter")
	h.Type("raw")
	h.Press("enter", "r")
	answered(h, s)
	if got := f.sent(); got != "PATCH /api/v1/namespaces/default/configmaps/a?dryRun=All&x=1&x=2 application/merge-patch+json\n"+`{"data":{}}` {
		t.Errorf("sent: %s", got)
	}
}

func TestTyping(t *testing.T) {
	h, s, _ := start(t)
	before := s.body.String()
	h.Press("e")
	if s.Context() != textContext {
		t.Fatalf("in %s", s.Context())
	}
	h.Press("ctrl+d", "ctrl+d", "end", "enter")
	h.Type("nothing: 3\ndat")
	h.Press("a", ":", " ", "[")
	h.Shows("! 1 problem esc: done", "! 5>data: [▏", "! 5:1 did not find expected ',' or ']'", "same as kubectl create -f - -n default")
	if c := s.check(); len(c.problems) == 0 {
		t.Error("nothing is wrong")
	}
	h.Press("ctrl+n", "esc", "n")
	for s.body.String() != before {
		h.Press("ctrl+z")
		if strings.Contains(strings.Join(h.Said, " "), "nothing to take back") {
			t.Fatalf("taken back it is\n%s", s.body.String())
		}
	}
	h.Press("e", "alt+r")
	answered(h, s)
	if s.Context() != answerContext {
		t.Errorf("in %s", s.Context())
	}
	s.Focus(bodyContext)
	h.Press("ctrl+y", "E")
	if len(h.Edits) != 1 || h.Edits[0].Suffix != ".yaml" {
		t.Fatalf("%+v", h.Edits)
	}
	h.Save("kind: ConfigMap\n", nil)
	if s.body.String() != "kind: ConfigMap\n" {
		t.Error("the editor's text is not the body")
	}
	h.Press("E")
	h.Save("", errors.New("it ended with 1"))
	if len(h.Complained) != 1 {
		t.Errorf("%q", h.Complained)
	}
	h.Press("T")
	if s.body.String() != before {
		t.Errorf("the template is\n%s", s.body.String())
	}
}

func TestWatch(t *testing.T) {
	h, s, f := start(t)
	s.load(request.Request{Verb: request.Watch, Resource: "v1/configmaps"})
	h.Press("r")
	for i := range 3 {
		f.next <- fmt.Sprintf(`{"type":"ADDED","object":{"kind":"ConfigMap","metadata":{"name":"c%d","namespace":"default","resourceVersion":"%d"}}}`, i, 50+i)
	}
	h.Until("the events are there", func() bool { return len(s.shown.answer.Events) == 3 })
	h.Shows("watch configmaps", "3 events", "[Events]", "ADDED ConfigMap default/c0 rv 50", "ADDED ConfigMap default/c2 rv 52", "same as kubectl get configmaps --watch -A")
	h.Press("K")
	answered(h, s)
	saw(t, h, "watch ended", "stopped")
	h.Press("K")
	if len(h.Complained) != 1 {
		t.Errorf("%q", h.Complained)
	}
}

func TestErrors(t *testing.T) {
	h, s, f := start(t)
	s.load(request.Request{Verb: request.Get, Resource: "v1/configmaps", Namespace: "default", Name: "none"})
	h.Press("r")
	answered(h, s)
	h.Shows("! 404 Not Found", "journey 3f2a1c-17 (enter: see its steps)", `message: configmaps "none" not found`, "same as kubectl get configmaps none -o yaml -n default")
	s.load(request.Request{Verb: request.Get, Resource: "v1/configmaps"})
	s.GoTo(requestPart)
	h.Press("r")
	if len(h.Complained) != 1 || !strings.Contains(h.Complained[0], "get which one?") {
		t.Errorf("%q", h.Complained)
	}
	s.load(request.Request{Verb: request.DeleteCollection, Resource: "v1/configmaps", Namespace: "default"})
	h.Press("r")
	if len(h.Questions) != 1 || !strings.Contains(h.Questions[0].Text, "delete all of configmaps -n default") {
		t.Fatalf("%+v", h.Questions)
	}
	h.Answer("")
	answered(h, s)
	f.mu.Lock()
	f.down = true
	f.mu.Unlock()
	h.Show(nil)
	s.resources = nil
	h.Press("/")
	if s.picker == nil || !strings.Contains(s.picker.note, "not known") {
		t.Errorf("%+v", s.picker)
	}
	h.Press("esc", "esc")
	h.Press("R")
	h.Answer("")
	answered(h, s)
	saw(t, h, "it could not be held")
}

func TestReplay(t *testing.T) {
	h, s, _ := start(t)
	h.Show(screen.ToSend{Method: "PATCH", URI: "/apis/apps/v1/namespaces/default/deployments/web?fieldManager=me", ContentType: "application/merge-patch+json", Body: []byte(`{"spec":{"replicas":3}}`), Held: true})
	r := s.request()
	if r.Verb != request.Patch || r.Patch != request.MergePatch || r.Name != "web" || r.Query.Get("fieldManager") != "me" || !strings.Contains(r.Body, `"replicas": 3`) {
		t.Errorf("%+v", r)
	}
	if len(s.check().problems) != 0 || s.document() == nil {
		t.Errorf("%v", s.check().problems)
	}
	h.Shows("verb patch", "patch merge", "resource apps/v1/deployments", "waiting", "patch deployments/web -n default", "same as kubectl patch deployments.v1.apps web --type merge -p", "PATCH /apis/apps/v1/namespaces/default/deployments/web?fieldManager=me")
	h.Until("it is held", func() bool { return len(h.Went) == 1 })
	if e := s.shown; e == nil || !e.held || e.answer.HeldAt == "" || e.request.Verb != request.Patch {
		t.Errorf("%+v", s.shown)
	}
	h.Press("K")
	answered(h, s)
	h.Show(screen.ToSend{Method: "GET", URI: "/metrics"})
	if r := s.request(); !r.Raw() || r.Path != "/metrics" {
		t.Errorf("%+v", r)
	}
	h.Shows("> verb < raw >", "method GET", "path /metrics", "! no answer", "! stopped", "same as kubectl get --raw /metrics")
}

// TestReplayAndGoOn goes to the history, and loads an object, while the server's answer is under way.
func TestReplayAndGoOn(t *testing.T) {
	h, s, _ := start(t)
	s.resources = nil
	asked := s.Show(screen.ToSend{Method: "PATCH", URI: "/apis/apps/v1/namespaces/default/deployments/web", ContentType: "application/merge-patch+json", Body: []byte(`{}`), Held: true})
	s.GoTo(historyPart)
	h.Run(asked)
	h.Until("it is held", func() bool { return len(h.Went) == 1 })
	if s.shown.request.Verb != request.Patch || !s.shown.held {
		t.Errorf("%+v", s.shown)
	}
	s.load(request.Request{Verb: request.Update, Resource: "v1/configmaps", Namespace: "default", Name: "a"})
	asked = s.loadObject()
	s.load(request.Request{Verb: request.Update, Resource: "v1/configmaps", Namespace: "default", Name: "b", Body: "mine"})
	h.Run(asked)
	if s.body.String() != "mine" {
		t.Errorf("the body of b is %s", s.body.String())
	}
}

func TestCopy(t *testing.T) {
	h, s, _ := start(t)
	h.Press("y", "a", "Y", "a", "y")
	for i, want := range []string{"kubectl --kubeconfig /home/you/.kx/kubeconfig create -f - -n default <<'EOF'\napiVersion: v1", "kx send --kubeconfig /home/you/.kx/kubeconfig -f - <<'EOF'\nverb: create",
		"curl -sS -X POST -H 'Content-Type: application/yaml' --data-binary @- http://127.0.0.1:8001/api/v1/namespaces/default/configmaps <<'EOF'\napi"} {
		if len(h.Copied) <= i || !strings.HasPrefix(h.Copied[i], want) {
			t.Errorf("copied %q, want %q", h.Copied, want)
		}
	}
	s.Focus(bodyContext)
	h.Press("y")
	if h.Copied[3] != s.body.String() {
		t.Errorf("copied %q", h.Copied[3])
	}
	s.Focus(requestContext)
	h.Press("r")
	answered(h, s)
	h.Frame(120, 36)
	h.Press("y")
	if !strings.Contains(h.Copied[4], "resourceVersion: \"57\"") || strings.Contains(h.Copied[4], "manager: x") {
		t.Errorf("copied %q", h.Copied[4])
	}
}

func TestFiles(t *testing.T) {
	h, s, _ := start(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	want := s.request()
	for i, answer := range []string{"", "yes"} {
		h.Press("w", "ctrl+u")
		h.Type(path)
		h.Press("enter")
		if answer != "" {
			if len(h.Questions) != 1 {
				t.Fatalf("nothing was asked the second time: %q %q", h.Said, h.Complained)
			}
			h.Answer(answer)
		}
		if len(h.Said) != i+1 || !strings.HasPrefix(h.Said[i], "saved") {
			t.Errorf("said %q, complained %q", h.Said, h.Complained)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	s.load(request.Request{Method: "GET", Path: "/version"})
	h.Press("ctrl+o", "ctrl+u")
	h.Type(dir + "/a")
	h.Press("tab", "enter")
	if got := s.request(); got.Verb != request.Create || got.Body != want.Body || len(s.history.entries) != 1 {
		t.Errorf("%+v, complained %q", got, h.Complained)
	}
	several := filepath.Join(dir, "b.yaml")
	if err := os.WriteFile(several, []byte("method: GET\npath: /a\n---\nmethod: GET\npath: /b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.Press("ctrl+o", "ctrl+u")
	h.Type(dir + "/")
	h.Press("tab", "down", "tab", "enter")
	if got := s.request(); got.Path != "/a" || s.history.entries[1].request.Path != "/b" {
		t.Errorf("%+v, complained %q", got, h.Complained)
	}
	s.Focus(historyContext)
	h.Press("j", "enter")
	saw(t, h, "not sent", "GET /b")
	for _, bad := range []string{dir, filepath.Join(dir, "none")} {
		h.Press("ctrl+o", "ctrl+u")
		h.Type(bad)
		h.Press("enter")
	}
	h.Press("w", "ctrl+u")
	h.Type(filepath.Join(dir, "none", "x"))
	h.Press("enter")
	if len(h.Complained) != 3 {
		t.Errorf("complained %q", h.Complained)
	}
}
