package etcd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

const (
	settings = "/registry/configmaps/default/settings"
	login    = "/registry/secrets/default/login"
)

// newScreen is the screen over what a real server answered (go test ./server -run TestRecordedKeys -rewrite).
func newScreen(t *testing.T) (*screentest.Host, *Screen, *screentest.Answers) {
	t.Helper()
	answers := screentest.Recorded(t, "testdata/answers.json")
	h := screentest.New(t, answers)
	s := New(h)
	h.Attach(s)
	return h, s, answers
}

// frame is what is seen, as one text.
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

// to unfolds the way to a key, and puts the cursor on it.
func to(t *testing.T, h *screentest.Host, s *Screen, key string) {
	t.Helper()
	h.Press("g")
	for range 100 {
		r, _ := s.selectedRow()
		if r.kind == keyRow && r.node.key() == key {
			return
		}
		if r.kind == keyRow && r.node.directory() && strings.HasPrefix(key, r.node.key()) && !r.node.open {
			h.Press("enter")
		}
		h.Press("j")
	}
	t.Fatalf("there is no %s", key)
}

func TestTreeAndValue(t *testing.T) {
	h, s, _ := newScreen(t)
	sees(t, h, "- /registry/", "+ configmaps/", "+ /elsewhere/", "etcd now, revision", "follow on", "Choose a key")
	h.Shows("etcd now, revision 15", "+ /elsewhere/", "> - /registry/", "7 keys, 1289 bytes, changed last at revision 14", "same as kx etcd ls /registry/")
	to(t, h, s, settings)
	sees(t, h, settings, "create", "update", "#", "ann", "ben", "color: blue", "[yaml] json hex diff")
	h.Shows("Revisions /registry/configmaps/default/settings", "update", "create", "ann ben", "revision 9 protobuf", "same as kx etcd get /registry/configmaps/default/settings")
	h.Press("enter", "a")
	sees(t, h, `"color": "blue"`)
	h.Press("a")
	sees(t, h, "00000000  6b 38 73 00", "|k8s.")
	h.Shows("Revisions /registry/configmaps/default/settings", "revision 9 protobuf", "same as kx etcd history /registry/configmaps/default/settings")
	h.Press("d")
	sees(t, h, "-   color: green", "+   color: blue", "-   size: ")
	h.Golden("diff")
	h.Press("u")
	sees(t, h, "apiVersion: v1")
	h.Sizes()
}

func TestDiffs(t *testing.T) {
	h, s, _ := newScreen(t)
	to(t, h, s, settings)
	h.Press("enter", "j", "j", "d")
	if s.revisionAt() != s.chosen.history.Revisions[0].Revision {
		t.Errorf("the cursor is on %d", s.revisionAt())
	}
	sees(t, h, "nothing older ->", "+ data:")
	h.Command("etcd.mark")
	h.Press("k", "k")
	first, last := s.chosen.history.Revisions[0].Revision, s.chosen.history.Revisions[2].Revision
	sees(t, h, fmt.Sprintf("%d -> %d", first, last), "-   color: red", "+   color: blue")
	if len(h.Said) == 0 || !strings.Contains(h.Said[0], "is marked") {
		t.Errorf("%q", h.Said)
	}
	h.Press("Y")
	if got := h.Copied[0]; got != "kx etcd history "+settings {
		t.Errorf("%s", got)
	}
	h.Press("tab", "Y", "y")
	if got := h.Copied[1]; got != fmt.Sprintf("kx etcd diff %d %d %s", first, last, settings) {
		t.Errorf("%s", got)
	}
	if got := h.Copied[2]; !strings.Contains(got, "+   color: blue\n") {
		t.Errorf("%s", got)
	}
	h.Press("E")
	if len(h.Edits) != 1 || h.Edits[0].Suffix != ".diff" {
		t.Errorf("%+v", h.Edits)
	}
	// What it differs in is on the value's side; text is compared as text, and a deletion is one.
	h.Show(screen.ToKey{Key: "/elsewhere/note"})
	sees(t, h, `first line\nanother line`)
	h.Show(screen.ToKey{Key: "/registry/configmaps/default/gone"})
	sees(t, h, "delete", "- data:")
	if last := h.Said[len(h.Said)-1]; !strings.Contains(last, "etcd has no key /registry/configmaps/default/gone") {
		t.Errorf("%s", last)
	}
}

func TestOtherValues(t *testing.T) {
	h, _, _ := newScreen(t)
	h.Show(screen.ToKey{Key: login})
	sees(t, h, "password: masked, 7 bytes", "11  protobuf, secretbox key1, masked")
	h.Shows("Revisions /registry/secrets/default/login", "revision 11 protobuf, secretbox key1, masked", "same as kx etcd history /registry/secrets/default/login")
	h.Press("d")
	sees(t, h, "A Secret is masked")
	h.Show(screen.ToKey{Key: "/elsewhere/bytes"})
	h.Press("a")
	sees(t, h, "bytes that are no object")
	h.Press("a", "a")
	sees(t, h, "00 01 fe ff")
	h.Show(screen.ToKey{Key: "/elsewhere/note"})
	h.Press("a", "a")
	sees(t, h, "first line", "another line")
	h.Show(screen.ToKey{Key: "/registry/configmaps/default/broken"})
	sees(t, h, "! ", "can't be read")
	h.Show(screen.ToKey{Key: "/none"})
	sees(t, h, "not found")
	if len(h.Said) == 0 || !strings.Contains(h.Said[len(h.Said)-1], "etcd has no key /none") {
		t.Errorf("%q", h.Said)
	}
}

func TestTravel(t *testing.T) {
	h, s, _ := newScreen(t)
	to(t, h, s, settings)
	second := s.chosen.history.Revisions[1].Revision
	h.Press("@")
	for _, wrong := range []string{"x", "-999", "0x", "9999999"} {
		h.Answer(wrong)
		if len(h.Complained) != 1 {
			t.Errorf("%s: %q", wrong, h.Complained)
		}
		h.Complained = nil
		h.Press("@")
	}
	h.Answer(fmt.Sprint(second))
	sees(t, h, fmt.Sprintf("@ AS AT REVISION %d of", second), "(later)", "color: green", "gone")
	h.Shows("@ AS AT REVISION 8 of 15, not now: esc goes back", "Keys @ 8", "(later)", "same as kx etcd get /registry/configmaps/default/settings --rev 8")
	if s.revisionAt() != second {
		t.Errorf("the cursor is on %d, want %d", s.revisionAt(), second)
	}
	if s.follower != nil {
		t.Error("it follows what is past")
	}
	h.Press("F")
	if len(h.Complained) != 1 || !strings.Contains(h.Complained[0], "does not change") {
		t.Errorf("%q", h.Complained)
	}
	if same, _ := s.Foot(); !strings.Contains(same, fmt.Sprintf("kx etcd get %s --rev %d", settings, second)) {
		t.Errorf("%s", same)
	}
	h.Press("esc")
	sees(t, h, "etcd now", "color: blue")
	h.Press("@")
	h.Answer("8")
	to(t, h, s, "/registry/configmaps/default/gone")
	h.Press("esc")
	if r, _ := s.selectedRow(); s.chosen != nil || !r.node.directory() {
		t.Errorf("the key is gone, and still chosen: %+v", s.chosen)
	}
	if s.at != 0 || s.follower == nil {
		t.Errorf("at %d, %v", s.at, s.follower)
	}
	if _, ok := s.back(); ok {
		t.Error("there is something left to go back from")
	}
}

func TestLeadTo(t *testing.T) {
	h, s, _ := newScreen(t)
	h.Show(screen.ToKey{Key: settings, Revision: 8})
	if r, _ := s.selectedRow(); r.node.key() != settings || s.revisionAt() != 8 || s.Context() != inRevisions {
		t.Errorf("%s, %d, %s", r.node.key(), s.revisionAt(), s.Context())
	}
	sees(t, h, "color: green")
	h.Press("enter")
	if want := (screen.ToRequest{Journey: s.chosen.revision(8).Journey, Step: "etcd.txn"}); len(h.Went) != 1 || h.Went[0] != want {
		t.Errorf("%+v", h.Went)
	}
	h.Press("H", "s", "J")
	if h.Went[1] != (screen.ToCache{Resource: "configmaps"}) || h.Went[2] != (screen.ToStructure{Resource: "configmaps"}) ||
		h.Went[3] != (screen.ToRequests{Filter: "resource:configmaps ns:default name:settings"}) {
		t.Errorf("%+v", h.Went)
	}
	h.Show(screen.ToKey{Key: "/elsewhere/note", Revision: 3})
	if last := h.Said[len(h.Said)-1]; !strings.Contains(last, "no longer has what was written at revision 3") {
		t.Errorf("%q", h.Said)
	}
	// Before the tree is known, too.
	answers := screentest.Recorded(t, "testdata/answers.json")
	other := screentest.New(t, answers)
	s = New(other)
	other.Attach(s)
	other.Show(screen.ToKey{Key: "/elsewhere/note"})
	if r, _ := s.selectedRow(); r.node.key() != "/elsewhere/note" {
		t.Errorf("%s", r.node.key())
	}
	other.Press("shift+tab", "enter")
	if len(other.Complained) != 0 {
		t.Errorf("%q", other.Complained)
	}
	other.Press("enter")
	if len(other.Complained) != 1 || !strings.Contains(other.Complained[0], "not known") {
		t.Errorf("%q", other.Complained)
	}
}

// TestLeadToNew leads to a key that came to be after the tree was read, while another screen was seen.
func TestLeadToNew(t *testing.T) {
	for name, fold := range map[string]bool{"in an open directory": false, "in a folded one": true} {
		h, s, _ := newScreen(t)
		to(t, h, s, settings)
		r, _ := s.selectedRow()
		dir := r.node.parent
		dir.children, dir.open = nil, !fold
		s.tree.flatten()
		s.drop()
		s.Hide()
		h.Show(screen.ToKey{Key: settings})
		if r, _ := s.selectedRow(); r.node.key() != settings || len(h.Said) != 0 {
			t.Errorf("%s: %s, %q", name, r.node.key(), h.Said)
		}
	}
}

func fed(kind, key string, bytes, mod int64) json.RawMessage {
	k := item(key, 1, bytes, mod)
	data, _ := json.Marshal(map[string]any{"type": kind, "object": k})
	return data
}
