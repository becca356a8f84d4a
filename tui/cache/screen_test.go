package cache

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// newScreen is the screen over what a real server answered (go test ./server -run TestRecordedCaches -rewrite), with the
// cache of configmaps chosen.
func newScreen(t *testing.T) (*screentest.Host, *Screen, *screentest.Answers) {
	t.Helper()
	answers := screentest.Recorded(t, "testdata/answers.json")
	for _, name := range []string{"customresourcedefinitions.apiextensions.k8s.io", "replicasets.apps"} {
		answers.Set(screentest.Answer{Path: cachesPath + "/" + name, Code: http.StatusNotFound, Body: json.RawMessage(`{"message":"not recorded"}`)})
	}
	h := screentest.New(t, answers)
	s := New(h)
	h.Attach(s)
	h.Show(screen.ToCache{Resource: "configmaps"})
	h.Until("the cache is known", func() bool { return s.one != nil })
	return h, s, answers
}

func frame(h *screentest.Host) string { return strings.Join(h.Frame(120, 36), "\n") }

func sees(t *testing.T, h *screentest.Host, texts ...string) {
	t.Helper()
	seen := frame(h)
	for _, text := range texts {
		if !strings.Contains(seen, text) {
			t.Errorf("%q is not seen:\n%s", text, seen)
		}
	}
}

// rowOf puts the cursor of the watches on the one that a text is in.
func rowOf(t *testing.T, h *screentest.Host, text string) {
	t.Helper()
	h.Press("f", "ctrl+u")
	h.Type(text)
	h.Press("enter")
	if len(h.Complained) > 0 {
		t.Fatalf("%q", h.Complained)
	}
}

func TestCaches(t *testing.T) {
	h, s, _ := newScreen(t)
	sees(t, h, "configmaps", "Fresh", "window  8 [", "etcd", "lag 0", "older than 8 comes from etcd", "[    ] 0/32", "#")
	if wide := strings.Join(h.Frame(200, 56), "\n"); !strings.Contains(wide, "/configmaps/default/ app=web") || !strings.Contains(wide, "metadata.name=settings") {
		t.Error(wide)
	}
	h.Golden("watches")
	rowOf(t, h, "app=web")
	journey := s.watcherUnder().Journey
	h.Press("enter")
	if len(h.Went) != 1 || h.Went[0] != (screen.ToRequest{Journey: journey}) {
		t.Errorf("%+v", h.Went)
	}
	h.Press("J", "s")
	if h.Went[1] != (screen.ToRequests{Filter: "resource:configmaps"}) || h.Went[2] != (screen.ToStructure{Resource: "configmaps"}) {
		t.Errorf("%+v", h.Went)
	}
	h.Press("y", "Y", "esc", "y", "Y")
	if want := []string{journey, "kx cache get configmaps", "configmaps", "kx cache ls"}; strings.Join(h.Copied, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", h.Copied)
	}
	h.Press("j")
	if s.want == "configmaps" || s.one != nil {
		t.Errorf("%s is chosen", s.want)
	}
	h.Press("f", "ctrl+u")
	h.Type("deploy")
	h.Press("enter")
	h.Until("deployments are known", func() bool { return s.one != nil && s.one.Name == "deployments.apps" })
	h.Press("J")
	if h.Went[3] != (screen.ToRequests{Filter: "resource:deployments group:apps"}) {
		t.Errorf("%+v", h.Went)
	}
	h.Sizes()
	h.Size(120, 36)
	h.Click(5, 3, 0)
	h.Click(5, 20, 0)
	h.Click(5, 20, 1)
	if s.Context() != inWatchers {
		t.Errorf("%s", s.Context())
	}
}

// TestPollsWhileSeen: nothing is asked while the screen is hidden.
func TestPollsWhileSeen(t *testing.T) {
	h, s, answers := newScreen(t)
	asked := answers.Asked(cachesPath)
	h.Press("ctrl+r")
	h.Until("it has asked again", func() bool { return answers.Asked(cachesPath) > asked })
	s.Hide()
	if s.poller != nil {
		t.Fatal("it goes on asking")
	}
	asked = answers.Asked(cachesPath)
	h.Show(nil)
	h.Until("it asks when it is seen again", func() bool { return answers.Asked(cachesPath) > asked })
}

func TestNoSuchCache(t *testing.T) {
	h, s, answers := newScreen(t)
	answers.Set(screentest.Answer{Path: cachesPath + "/events", Code: http.StatusNotFound, Body: json.RawMessage(`{"message":"no"}`)})
	h.Show(screen.ToCache{Resource: "events"})
	h.Until("it is said", func() bool { return len(h.Complained) > 0 })
	if !strings.Contains(h.Complained[0], "there is no watch cache of events") || s.want == "events" {
		t.Errorf("%q, %s", h.Complained, s.want)
	}
}

func TestWatch(t *testing.T) {
	h, s, answers := newScreen(t)
	after := s.one.Status.History.After
	h.Press("@")
	h.Answer("x")
	if len(h.Complained) != 1 {
		t.Errorf("%q", h.Complained)
	}
	h.Press("@")
	if q := h.Questions[0]; q.Initial != fmt.Sprint(s.one.Status.Revision) || !strings.Contains(q.Text, fmt.Sprintf("after %d", after)) {
		t.Errorf("%+v", q)
	}
	h.Answer(fmt.Sprint(after))
	h.Until("the events came", func() bool { return s.watched.events == 3 })
	sees(t, h, fmt.Sprintf("Watch configmaps from %d", after), "live, 3 events", "ADDED", "default/settings", "DELETED", "default/other")
	h.Shows("Watch configmaps from 8", "live, 3 events", "ADDED 9 default/settings", "ADDED 10 default/other", "DELETED 11 default/other", "same as kubectl get --raw '/api/v1/configmaps?")
	feed := answers.Feed("/api/v1/configmaps")
	feed <- json.RawMessage(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"77"}}}`)
	feed <- json.RawMessage(`{"type":"ADDED","object":{"metadata":{"resourceVersion":"78","name":"\u001b[31mred","namespace":"n"}}}`)
	h.Until("more came", func() bool { return s.watched.events == 5 })
	sees(t, h, "a client that comes back begins from it", "n/�[31mred")
	for i := range eventsMost + 10 {
		feed <- json.RawMessage(fmt.Sprintf(`{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"%d","name":"many"}}}`, 100+i))
	}
	h.Until("all came", func() bool { return s.watched.events == eventsMost+15 })
	sees(t, h, "the first 15 are not kept", fmt.Sprint(100+eventsMost+9))
	if n := len(s.watched.lines); n != eventsMost {
		t.Errorf("%d lines are kept", n)
	}
	h.Press("Y", "K")
	if !strings.HasPrefix(h.Copied[0], "kubectl get --raw '/api/v1/configmaps?allow") {
		t.Errorf("%q", h.Copied)
	}
	h.Until("it has ended", func() bool { return s.watched.ended })
	h.Press("K")
	if last := h.Complained[len(h.Complained)-1]; !strings.Contains(last, "no watch that you started here runs") {
		t.Errorf("%q", last)
	}
	h.Press("esc")
	if s.stream != nil || s.Context() != inWatchers {
		t.Error("the result is still there")
	}
}

// TestWatchGone begins before the history, and is told what to do.
func TestWatchGone(t *testing.T) {
	h, s, _ := newScreen(t)
	after := s.one.Status.History.After
	h.Press("@")
	h.Answer(fmt.Sprint(after - 1))
	h.Until("it has ended", func() bool { return s.watched.ended })
	sees(t, h, "! 410 Gone: too old resource version: 7 (8)", "1. list again:", "GET /api/v1/configmaps?resourceVersion=0", "3. watch from there",
		fmt.Sprintf("@ from %d on goes through", after))
	h.Shows("Watch configmaps from 7", "ended with an error, 0 events", "! 410 Gone: too old resource version: 7 (8)", "What a client must do now")
	h.Press("E")
	if len(h.Edits) != 1 || !strings.Contains(string(h.Edits[0].Text), "list again") {
		t.Errorf("%+v", h.Edits)
	}
	h.Sizes()
}

func TestWatchState(t *testing.T) {
	h, s, _ := newScreen(t)
	h.Press("I")
	h.Until("the state came", func() bool { return s.watched.events == 5 })
	sees(t, h, "with the present state (sendInitialEvents)", "the present state ends here")
	h.Show(screen.ToCache{Resource: "deployments.apps"})
	h.Until("deployments are known", func() bool { return s.one != nil && s.one.Name == "deployments.apps" })
	h.Press("@")
	h.Answer("")
	h.Until("the path is found", func() bool { return s.watched.path == "/apis/apps/v1/deployments" })
	sees(t, h, "Watch deployments.apps with the present state", "live, 0 events")
}

func TestCheckAndObject(t *testing.T) {
	h, s, answers := newScreen(t)
	h.Press("d")
	sees(t, h, "Check configmaps against etcd", "The same: all 4 objects")
	h.Press("Y")
	h.Press("D")
	h.Answer("default/settings")
	sees(t, h, "Object default/settings of configmaps", "Both have the same.", "color: red")
	h.Shows("Object default/settings of configmaps", "Both have the same.", "/configmaps/default/settings", "etcd: revision 9", "same as kx cache get configmaps default/settings")
	h.Press("Y", "y", "D")
	if h.Copied[0] != "kx cache check configmaps" || h.Copied[1] != "kx cache get configmaps default/settings" || !strings.Contains(h.Copied[2], "color: red") {
		t.Errorf("%q", h.Copied)
	}
	h.Answer("default/none")
	sees(t, h, "! ", "not found")
	h.Show(screen.ToCache{Resource: "secrets"})
	h.Until("secrets are known", func() bool { return s.one != nil && s.one.Name == "secrets" })
	h.Press("D")
	h.Answer("default/login")
	sees(t, h, "password: masked", "Both have the same.")
	if strings.Contains(frame(h), "aHVudGVyMg") {
		t.Error("the secret is seen")
	}

	check := v1alpha1.CacheCheck{Status: v1alpha1.CacheCheckStatus{Revision: 9, Items: 200, Cut: 7, TookMicros: 1200, Differences: []v1alpha1.CacheDifference{
		{Key: "/secrets/a/b", CachedRevision: 3, EtcdRevision: 4, Message: "/secrets/a/b is at revision 3 in the cache, and at 4 in etcd"},
	}}}
	data, _ := json.Marshal(check)
	answers.Set(screentest.Answer{Path: cachesPath + "/secrets/check", Code: 200, Body: data})
	h.Press("d")
	sees(t, h, "! Not the same at revision 9, in 8 of 200 objects", "at revision 3 in the cache", "and 7 more")
	h.Shows("Check secrets against etcd", "! Not the same at revision 9, in 8 of 200 objects", "and 7 more", "Nobody watches.", "same as kx cache check secrets")
}

func TestKill(t *testing.T) {
	answers := screentest.Recorded(t, "testdata/answers.json")
	var mu sync.Mutex
	var orders []string
	h := screentest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			answers.ServeHTTP(w, r)
			return
		}
		var c v1alpha1.JourneyCommand
		_ = json.NewDecoder(r.Body).Decode(&c)
		mu.Lock()
		orders = append(orders, r.URL.Path+" "+string(c.Spec.Action))
		first := len(orders) == 1
		mu.Unlock()
		if first {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"message":"faults are not allowed"}`))
			return
		}
		_, _ = w.Write([]byte(`{}`))
	}))
	s := New(h)
	h.Attach(s)
	h.Show(screen.ToCache{Resource: "configmaps"})
	h.Until("the cache is known", func() bool { return s.one != nil })
	rowOf(t, h, "app=web")
	journey := s.watcherUnder().Journey
	for range 2 {
		h.Press("K")
		h.Answer("yes")
	}
	if want := "/apis/kx.dev/v1alpha1/journeys/" + journey + "/step drop"; len(orders) != 2 || orders[0] != want || orders[1] != want {
		t.Errorf("%q", orders)
	}
	if len(h.Complained) != 1 || !strings.Contains(h.Complained[0], "not allowed") || len(h.Said) != 1 || !strings.Contains(h.Said[0], "has ended") {
		t.Errorf("%q %q", h.Complained, h.Said)
	}
}

// TestTrouble: a server that does not answer, or has no caches.
func TestTrouble(t *testing.T) {
	var mu sync.Mutex
	code, body := http.StatusServiceUnavailable, `{"message":"starting"}`
	h := screentest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	s := New(h)
	h.Attach(s)
	h.Until("it is said", func() bool { return s.wrong != "" })
	sees(t, h, "! no answer", "  starting")
	if _, state := s.Foot(); !strings.Contains(state, "starting") {
		t.Errorf("%s", state)
	}
	for _, id := range []keys.ID{
		"cache.watch", "cache.watch-state", "cache.watch-stop", "cache.check", "cache.object", "cache.kill", "cache.requests", "cache.structure", "cache.find-next", keys.Copy,
	} {
		h.Command(id)
	}
	if len(h.Complained) != 10 {
		t.Errorf("%d: %q", len(h.Complained), h.Complained)
	}
	h.Sizes()
	mu.Lock()
	code, body = http.StatusOK, `{"items":[]}`
	mu.Unlock()
	h.Press("ctrl+r")
	h.Until("it answers", func() bool { return s.heard })
	sees(t, h, "The server has no watch caches")
}

// TestGone goes on by itself when the server is back.
func TestGone(t *testing.T) {
	h, s, _ := newScreen(t)
	h.Gone(true)
	h.Press("ctrl+r")
	h.Until("it is said", func() bool { return s.wrong != "" })
	sees(t, h, "! no answer", "serviceaccounts") // what it had is seen
	s.heard, s.caches, s.one = false, metav1.Table{}, nil
	h.Shows("! no answer", "The server does not answer. It is asked again by itself.", "what is shown is from before")
	h.Gone(false)
	h.Press("ctrl+r")
	h.Until("it is there again", func() bool { return s.wrong == "" && s.one != nil })
}

func TestRuler(t *testing.T) {
	cache := func(after, revision, etcd int64, at ...int64) *v1alpha1.Cache {
		c := &v1alpha1.Cache{}
		c.Status.History.After, c.Status.Revision, c.Status.EtcdRevision, c.Status.Lag = after, revision, etcd, etcd-revision
		for _, n := range at {
			c.Status.Watchers = append(c.Status.Watchers, v1alpha1.CacheWatcher{At: n})
		}
		return c
	}
	for _, test := range []struct {
		cache *v1alpha1.Cache
		want  string
	}{
		{cache(57, 117, 117), "window  57 [====================] 117   etcd 117   lag 0\n                                "},
		{cache(100, 110, 120, 100, 110, 110, 120), "window  100 [==========..........] 110   etcd 120   lag 10\n             ^        2         ^"},
		{cache(0, 0, 0, 0), "window  0 [====================] 0   etcd 0   lag 0\n           ^                   "},
		{cache(5, 5, 5, 1, 99), "window  5 [====================] 5   etcd 5   lag 0\n           2                   "},
	} {
		right := fmt.Sprintf("] %d   etcd %d   lag %d", test.cache.Status.Revision, test.cache.Status.EtcdRevision, test.cache.Status.Lag)
		left := fmt.Sprintf("window  %d [", test.cache.Status.History.After)
		got := strings.Join(ruler(test.cache, draw.Width(left)+20+draw.Width(right)), "\n")
		if got != test.want {
			t.Errorf("%+v:\n%s\nwant\n%s", test.cache.Status, got, test.want)
		}
	}
	for _, test := range []struct {
		queued, buffer int32
		want           string
	}{{0, 32, "[    ]"}, {1, 32, "[#   ]"}, {17, 32, "[### ]"}, {32, 32, "[####]"}, {40, 32, "[####]"}, {0, 0, "[????]"}} {
		if got := gauge(test.queued, test.buffer); got != test.want {
			t.Errorf("%d of %d: %s", test.queued, test.buffer, got)
		}
	}
	h := &cache(1, 2, 3).Status.History
	h.MostEvents, h.LeastEvents, h.WindowSeconds, h.MostBytes = 100, 10, 75, 1<<20
	if got := window(cache(57, 117, 117), time.UTC); !strings.HasPrefix(got, "older than 57 comes from etcd") {
		t.Errorf("%s", got)
	}
}

// TestUsedFirst: caches that nobody has asked for come last, and say so.
func TestUsedFirst(t *testing.T) {
	h, s, _ := newScreen(t)
	h.Until("the caches are known", func() bool { return s.heard && len(s.caches.Rows) > 1 })
	state := s.stateColumn()
	first := nameIn(s.caches.Rows[0])
	s.caches.Rows[0].Cells[state] = string(v1alpha1.CacheUninitialized)
	s.usedFirst()
	last := s.caches.Rows[len(s.caches.Rows)-1]
	if nameIn(last) != first {
		t.Errorf("%s is last, not %s", nameIn(last), first)
	}
	s.list.SetCursor(len(s.caches.Rows) - 1)
	if got := frame(h); !strings.Contains(got, "not used yet") || strings.Contains(got, "Uninitialized") {
		t.Error(got)
	}
}
