package etcd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

func TestFollow(t *testing.T) {
	h, s, answers := newScreen(t)
	to(t, h, s, settings)
	h.Press("k")
	feed := answers.Feed(keysPath)
	feed <- fed("ADDED", "/registry/configmaps/default/zebra", 40, 900)
	feed <- fed("DELETED", settings, 0, 901)
	h.Until("the events are seen", func() bool { return s.head.Revision == 901 })
	sees(t, h, "*", "zebra", "x         settings", "deleted", "revision 901")
	h.Shows("etcd now, revision 901", "* - /registry/", "* - configmaps/", "create", "same as kx etcd get /registry/configmaps/default/broken", "revision 14")
	asked := answers.Asked(keysPath + "?limit=500&prefix=")
	close(feed)
	h.Until("all is read again when the watch ends", func() bool { return answers.Asked(keysPath+"?limit=500&prefix=") > asked })
	h.Until("it gives up on a server that ends each watch", func() bool { return s.unfollowed != "" })
	_, state := s.Foot()
	if !strings.Contains(state, "ends the watch at once") || !strings.Contains(frame(h), "! not followed") {
		t.Errorf("%s", state)
	}
	h.Press("F")
	if s.unfollowed != "" || !s.following {
		t.Errorf("%q %t", s.unfollowed, s.following)
	}
	h.Press("F")
	sees(t, h, "follow off")
}

// TestFollowTooMuch: what does not fit is said, and not made up.
func TestFollowTooMuch(t *testing.T) {
	h, s, answers := newScreen(t)
	feed := answers.Feed(keysPath)
	for i := range eventsMost + 100 {
		feed <- fed("MODIFIED", settings, 1, int64(1000+i))
	}
	f := s.follower
	for {
		f.mu.Lock()
		lost := f.lost
		f.mu.Unlock()
		if lost > 0 {
			break
		}
	}
	h.Run(s.Drain())
	if s.follower != nil || !strings.Contains(s.unfollowed, "at once") {
		t.Errorf("%q", s.unfollowed)
	}
	s.Hide()
	h.Show(nil)
	if s.follower == nil || s.unfollowed != "" {
		t.Error("it does not follow when it is seen again")
	}
}

func TestPages(t *testing.T) {
	h, s, answers := newScreen(t)
	const prefix = "prefix=%2Fregistry%2Fconfigmaps%2Fdefault%2F"
	page := answers.Get(keysPath + "?limit=1&" + prefix)
	var list v1alpha1.KeyList
	if err := json.Unmarshal(page.Body, &list); err != nil || list.Continue == "" {
		t.Fatalf("%v %s", err, page.Body)
	}
	rest := answers.Get(keysPath + "?limit=1&continue=" + list.Continue + "&" + prefix)
	page.Path, rest.Path = keysPath+"?limit=500&"+prefix, keysPath+"?limit=500&continue="+list.Continue+"&"+prefix
	answers.Set(page, rest)
	to(t, h, s, "/registry/configmaps/default/broken")
	sees(t, h, "there are more: enter reads them")
	h.Press("j", "enter", "j")
	sees(t, h, "settings")
	if strings.Contains(frame(h), "there are more") {
		t.Error(frame(h))
	}
}

func TestFindAndFold(t *testing.T) {
	h, s, _ := newScreen(t)
	h.Press("f")
	h.Type("secr")
	if r, _ := s.selectedRow(); r.node.key() != "/registry/secrets/" {
		t.Errorf("%s", r.node.key())
	}
	sees(t, h, " find secr▏")
	h.Press("enter", "l", "l", "h", "h")
	if r, _ := s.selectedRow(); r.node.key() != "/registry/secrets/" || r.node.open {
		t.Errorf("%s %t", r.node.key(), r.node.open)
	}
	h.Press("h")
	if r, _ := s.selectedRow(); r.node.key() != "/registry/" {
		t.Errorf("%s", r.node.key())
	}
	h.Press("n", "p", "N")
	h.Press("f", "ctrl+u")
	h.Type("no such")
	h.Press("enter")
	if len(h.Complained) != 1 {
		t.Errorf("%q", h.Complained)
	}
	h.Press("y")
	if len(h.Copied) != 1 || h.Copied[0] != "/registry/secrets/" {
		t.Errorf("%q", h.Copied)
	}
	h.Press("Y", "z", "esc")
	if h.Copied[1] != "kx etcd ls /registry/secrets/" {
		t.Errorf("%q", h.Copied)
	}
	h.Press("H")
	h.Click(5, 3, 0)
	h.Click(5, 3, 1)
	h.Click(100, 5, 0)
	if s.Context() != inRevisions {
		t.Errorf("%s", s.Context())
	}
}

func TestCompact(t *testing.T) {
	answers := screentest.Recorded(t, "testdata/answers.json")
	sent := ""
	h := screentest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			answers.ServeHTTP(w, r)
			return
		}
		var c v1alpha1.Compaction
		_ = json.NewDecoder(r.Body).Decode(&c)
		sent += fmt.Sprint(r.URL.Path, " ", c.Spec.Revision, ";")
		if c.Spec.Revision == 0 {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"message":"compactions are not allowed"}`))
			return
		}
		c.Status.Revision, c.Status.TookMicros = c.Spec.Revision, 1500
		_ = json.NewEncoder(w).Encode(c)
	}))
	s := New(h)
	h.Attach(s)
	h.Press("ctrl+k")
	h.Answer("yes")
	if len(h.Complained) != 1 || !strings.Contains(h.Complained[0], "not allowed") {
		t.Errorf("%q", h.Complained)
	}
	h.Show(screen.ToKey{Key: settings, Revision: 8})
	h.Press("ctrl+k")
	h.Answer("yes")
	if sent != "/apis/kx.dev/v1alpha1/compactions 0;/apis/kx.dev/v1alpha1/compactions 8;" || !strings.Contains(h.Said[len(h.Said)-1], "before revision 8, in 1.50ms") {
		t.Errorf("%s %q", sent, h.Said)
	}
}

// TestNoServer: what goes wrong is said where it would be shown.
func TestNoServer(t *testing.T) {
	h := screentest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"message":"only members of system:masters may\u001b[31m look below the API"}`))
	}))
	s := New(h)
	h.Attach(s)
	sees(t, h, "! only members of system:masters")
	h.Shows("! only members of system:masters may", "Choose a key: its revisions are shown here", "same as kx etcd ls")
	h.Press("enter", "ctrl+r")
	for _, id := range []keys.ID{
		"etcd.travel", "etcd.now", "etcd.diff", "etcd.mark", "etcd.form", "etcd.edit", "etcd.cache", "etcd.structure", "etcd.requests", "etcd.find-next", keys.Copy,
	} {
		h.Command(id)
	}
	if len(h.Complained) != 11 {
		t.Errorf("%q", h.Complained)
	}
	h.Sizes()
}
