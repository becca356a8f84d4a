package structure

import (
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// recorded answers as a real server did: go test ./server -run TestStructureRecorded -rewrite.
func recorded(t testing.TB) http.Handler {
	t.Helper()
	data, err := os.ReadFile("testdata/structure.json")
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &answers); err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, path), "/")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"it was not recorded","code":404}`))
			return
		}
		_, _ = w.Write(answer)
	})
}

func newHost(t testing.TB, handler http.Handler) (*screentest.Host, *Screen) {
	h := screentest.New(t, handler)
	s := New(h)
	h.Attach(s)
	return h, s
}

func TestFrames(t *testing.T) {
	h, _ := newHost(t, recorded(t))
	h.Shows("/ all parts of the server", "▸ filters (14)", "▾ servers (5)", "1 aggregator", "2 kube", "5 not-found", "▾ resources (84)", "same as kubectl get structure")
	h.Show(screen.ToStructure{Group: "apps", Resource: "deployments"})
	h.Golden("resource")
	h.Press("enter", "G")
	h.Shows("deployments.v1.apps", "below /apis/apps/v1/", "no delete: the storage is not a rest.GracefulDeleter")
	h.Show(screen.ToStructure{Group: "stable.example.com", Resource: "crontabs"})
	h.Press("/")
	h.Type("definition: stable")
	h.Shows("/ definition: stable▏", "1 found", "▾ definitions (1)", "crontabs.stable.example.com")
	h.Press("enter")
	h.Shows("/ definition: stable", "1 found", "crontabs.stable.example.com", "served", "same as kubectl get structure definition:crontabs.stable.example.com -o yaml")
	h.Press("/")
	h.Press("ctrl+u")
	h.Type("controller: garbage")
	h.Press("enter")
	h.Shows("/ controller: garbage", "▾ controllers (15)", "garbage-collector-controller", "same as kubectl get structure controller:garbage-collector-controller -o yaml")
}

// TestController says where a controller runs, and why it can't do what it should.
func TestController(t *testing.T) {
	for _, tt := range []struct {
		is   v1alpha1.StructureController
		want []string
	}{
		{v1alpha1.StructureController{State: v1alpha1.ControllerRunning, Waiting: 7, Working: 2}, []string{"it runs in this process", "7 objects", "on 2"}},
		{v1alpha1.StructureController{State: v1alpha1.ControllerElsewhere, Holder: "host_1"}, []string{"another process", "host_1"}},
		{v1alpha1.StructureController{State: v1alpha1.ControllerOff}, []string{"off, by --controllers"}},
		{v1alpha1.StructureController{State: v1alpha1.ControllerRunning, Other: "manager-1"}, []string{"kube-controller-manager manager-1"}},
		{v1alpha1.StructureController{State: v1alpha1.ControllerRunning, Failing: 3, Error: "no way"}, []string{"failed at 3", "no way"}},
	} {
		s := &sheet{w: 100}
		s.controller(&v1alpha1.Structure{Spec: v1alpha1.StructureSpec{Title: "t", Controller: &tt.is}})
		var text strings.Builder
		for _, l := range s.lines {
			text.WriteString(l.text + "\n")
		}
		for _, want := range tt.want {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%+v: %q is not in\n%s", tt.is, want, text.String())
			}
		}
	}
}

func TestSizes(t *testing.T) {
	h, _ := newHost(t, recorded(t))
	h.Sizes()
	h.Show(screen.ToStructure{Resource: "configmaps"})
	h.Press("enter")
	h.Sizes()
	h.Press("z")
	h.Sizes()
	h.Press("/")
	h.Sizes()
}

// Each part has its way to where it can be seen at work.
func TestWays(t *testing.T) {
	for _, test := range []struct {
		at   screen.ToStructure
		keys string
		want screen.Target
	}{
		{screen.ToStructure{Group: "apps", Resource: "deployments"}, "J", screen.ToRequests{Filter: "resource:deployments group:apps"}},
		{screen.ToStructure{Resource: "configmaps"}, "J", screen.ToRequests{Filter: "resource:configmaps"}},
		{screen.ToStructure{Resource: "configmaps"}, "H", screen.ToCache{Resource: "configmaps"}},
		{screen.ToStructure{Group: "apps", Resource: "deployments"}, "H", screen.ToCache{Resource: "deployments.apps"}},
		{screen.ToStructure{Group: "apps", Resource: "deployments"}, "V", screen.ToKey{Key: "/registry/deployments/"}},
		{screen.ToStructure{Resource: "configmaps"}, "r", screen.ToSend{Method: "GET", URI: "/api/v1/namespaces/default/configmaps"}},
		{screen.ToStructure{Group: "kx.dev", Resource: "caches"}, "r", screen.ToSend{Method: "GET", URI: "/apis/kx.dev/v1alpha1/caches"}},
	} {
		h, _ := newHost(t, recorded(t))
		h.Show(test.at)
		h.Press(strings.Fields(test.keys)...)
		if len(h.Complained) > 0 || len(h.Went) != 1 || !reflect.DeepEqual(h.Went[0], test.want) {
			t.Errorf("%+v %s: %v %+v, want %+v", test.at, test.keys, h.Complained, h.Went, test.want)
		}
	}
}

// TestLines goes from lines of the right pane.
func TestLines(t *testing.T) {
	h, s := newHost(t, recorded(t))
	h.Show(screen.ToStructure{Group: "apps", Resource: "deployments"})
	h.Press("enter")
	var sources, sends int
	for i := range s.lines() {
		s.detail.SetCursor(i)
		l := s.line()
		if !l.leads() {
			continue
		}
		if l.part != "" {
			if s.tree.byID[l.part] == nil {
				t.Errorf("%q leads to %s, which is not there", l.text, l.part)
			}
			continue
		}
		h.Went = nil
		h.Press("enter")
		switch to := h.Went[0].(type) {
		case screen.ToSource:
			sources++
			if to.File == "" || to.Line == 0 || to.Function == "" {
				t.Errorf("%q leads to %+v", l.text, to)
			}
			h.Press("v")
			if !reflect.DeepEqual(h.Went[1], to) {
				t.Errorf("%q: v leads to %+v", l.text, h.Went[1])
			}
		case screen.ToSend:
			sends++
			if to.Method == "" || strings.Contains(to.URI, "{") {
				t.Errorf("%q leads to %+v", l.text, to)
			}
		}
	}
	if sources < 20 || sends < 10 {
		t.Errorf("%d lines lead to the source, %d to a request", sources, sends)
	}
}

// TestTree folds, unfolds, finds and goes back.
func TestTree(t *testing.T) {
	h, s := newHost(t, recorded(t))
	if n := s.node(); n == nil || n.id != filtersID {
		t.Fatalf("the cursor is on %+v", n)
	}
	folded := len(s.tree.rows)
	h.Press("l", "j")
	if s.selectedName() != "filter:audit-init" || len(s.tree.rows) <= folded {
		t.Errorf("unfolded: %s of %d rows", s.selectedName(), len(s.tree.rows))
	}
	h.Press("J", "v")
	if want := (screen.ToRequests{Filter: "step:filter.audit-init"}); h.Went[0] != want {
		t.Errorf("%+v", h.Went)
	}
	if to, ok := h.Went[1].(screen.ToSource); !ok || to.Function != "server/filter.WithAuditInit" {
		t.Errorf("%+v", h.Went)
	}
	h.Press("h", "h")
	if s.selectedName() != filtersID || len(s.tree.rows) != folded {
		t.Errorf("folded: %s of %d rows", s.selectedName(), len(s.tree.rows))
	}
	for key, why := range map[string]string{"H": "this is no resource that is served", "V": "this is no resource that is served", "v": "there is no source of this"} {
		h.Complained = nil
		h.Press(key)
		if len(h.Complained) != 1 || !strings.Contains(h.Complained[0], why) {
			t.Errorf("%s: %q", key, h.Complained)
		}
	}
	h.Press("/")
	h.Type("deletecollection crontab")
	if s.selectedName() != "crontabs.v1.stable.example.com" || s.tree.found != 1 {
		t.Errorf("found %s, %d parts", s.selectedName(), s.tree.found)
	}
	h.Until("what was found is there", func() bool { return s.whole["crontabs.v1.stable.example.com"] != nil })
	h.Press("enter", "esc")
	if s.tree.filter != "" || s.selectedName() != "crontabs.v1.stable.example.com" {
		t.Errorf("after esc: %q %s", s.tree.filter, s.selectedName())
	}
	h.Press("/")
	h.Type("no such part")
	if s.node() != nil || s.tree.found != 0 {
		t.Errorf("found %+v", s.node())
	}
	h.Press("esc")
	if s.node() == nil {
		t.Error("nothing is under the cursor")
	}
	h.Show(screen.ToStructure{Resource: "nonsense"})
	if len(h.Complained) == 0 || !strings.Contains(h.Complained[len(h.Complained)-1], "no resource nonsense") {
		t.Errorf("%q", h.Complained)
	}
}

// TestRefused shows why the server said no, and what there was before.
func TestRefused(t *testing.T) {
	refuse := false
	real := recorded(t)
	h, s := newHost(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","message":"structure.kx.dev is forbidden","code":403}`))
			return
		}
		real.ServeHTTP(w, r)
	}))
	refuse = true
	h.Press("ctrl+r")
	if _, state := s.Foot(); !strings.Contains(state, "structure.kx.dev is forbidden") || len(s.tree.rows) == 0 {
		t.Errorf("%q, %d rows", state, len(s.tree.rows))
	}
	first, _ := newHost(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","message":"structure.kx.dev is forbidden\u001b[2J","code":403}`))
	}))
	if frame := strings.Join(first.Frame(120, 36), "\n"); !strings.Contains(frame, "is forbidden") || strings.Contains(frame, "\x1b") {
		t.Errorf("%s", frame)
	}
}

// TestGone asks again when the server is back, for all parts and for the one under the cursor.
func TestGone(t *testing.T) {
	h := screentest.New(t, recorded(t))
	s := New(h)
	h.Gone(true)
	h.Attach(s)
	h.Shows("/ all parts of the server", "The server does not answer. It is asked again by itself.")
	h.Gone(false)
	if !s.loaded || s.failed != "" {
		t.Fatalf("it is not there: %q", s.failed)
	}
	h.Gone(true)
	h.Press("ctrl+r")
	if !s.loaded || s.failed != screen.NoAnswer {
		t.Errorf("%q", s.failed)
	}
	h.Gone(false)
	if s.failed != "" {
		t.Errorf("%q", s.failed)
	}
}

func TestMouse(t *testing.T) {
	h, s := newHost(t, recorded(t))
	h.Frame(120, 36)
	h.Click(5, 3, 0)
	if s.At() != treePane || s.list.Cursor() != 1 {
		t.Errorf("row %d", s.list.Cursor())
	}
	h.Click(100, 4, 0)
	if s.At() != detailPane {
		t.Errorf("the focus is %s", s.Context())
	}
	h.Click(5, 3, 1)
	if s.list.Cursor() != 4 {
		t.Errorf("row %d after the wheel", s.list.Cursor())
	}
	h.Click(5, 0, 0)
	if s.Context() != inFilter {
		t.Errorf("the context is %s", s.Context())
	}
}

// TestFetchedAgain keeps what is seen while the server is asked again, and the cursor in it.
func TestFetchedAgain(t *testing.T) {
	asked := map[string]int{}
	real := recorded(t)
	h, s := newHost(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[strings.TrimPrefix(r.URL.Path, path)]++
		real.ServeHTTP(w, r)
	}))
	h.Show(screen.ToStructure{Group: "apps", Resource: "deployments"})
	h.Press("enter", "G")
	before, n := s.line().text, len(s.lines())
	load := s.Show(nil)
	if s.line().text != before {
		t.Errorf("while it is fetched again the cursor is on %q, not on %q", s.line().text, before)
	}
	h.Run(load)
	if s.line().text != before || len(s.lines()) != n || asked["/deployments.v1.apps"] != 2 || asked[""] != 3 {
		t.Errorf("%q of %d lines, asked %v", s.line().text, len(s.lines()), asked)
	}
}
