package steps

import (
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/theme"
)

func shown(t testing.TB, name string, w, h int) *Pane {
	t.Helper()
	j := screentest.Journey(t, name)
	p := New(theme.Plain)
	p.SetSize(w, h)
	p.Show(j, CountChanges(j))
	return p
}

// TestGolden keeps two frames whole, for people to look at.
func TestGolden(t *testing.T) {
	screentest.GoldenPane(t, "update", shown(t, "rec-7", 68, 32).Render(true))
	screentest.GoldenPane(t, "wide", shown(t, "rec-16", 200, 40).Render(true))
}

// TestFrames shows the cursor on the step that matters, the lanes that led there, the steps that failed, and below them what the step is
// about and why it went so.
func TestFrames(t *testing.T) {
	for _, test := range []struct {
		name, journey string
		w, h          int
		shows         []string
	}{
		{"a create", "rec-1", 68, 32, []string{"rec-1 44 steps", "> | | | +>* 39 - KV.Txn", "etcd.txn KV.Txn /registry/configmaps/default/demo", "why: the key was free"}},
		{"a read of the cache", "rec-2", 68, 24, []string{"rec-2 27 steps", "> | | +>* 24 Cacher.Get", "why: resourceVersion 0: whatever the cache has, at 6"}},
		{"a read", "rec-3", 68, 24, []string{"rec-3 29 steps", "> | | +>* 24 - Cacher.Get", "why: resourceVersion unset: etcd has the key at 6"}},
		{"a dry run that creates what it looked for in vain", "rec-10", 68, 24, []string{"dryrun.create", "why: dry run: look whether the key is free"}},
		{"a read of nothing", "rec-6", 68, 24, []string{"! * 16 - getResourceHandler", "! +>* 20 - REST.Get nope", ">! | | +>* 24 - Cacher.Get", "error: StorageError: key not found"}},
		{"a conflict", "rec-8", 68, 30, []string{"! * 16 - UpdateResource", "! | | | +>* 27 - etcd3 store.GuaranteedUpdate",
			">! | | *<--+ 29 - the storage calls back up", "store.try-update", "error: Operation cannot be fulfilled on configmaps"}},
		{"a delete", "rec-11", 68, 32, []string{"> | | | | +>* 34 - KV.Txn", "why: the key was still at revision 8"}},
		{"a custom resource", "rec-12", 68, 40, []string{"51 steps", "> | | | +>* 46 + KV.Txn /registry/recorded.exa…", "why: the key was free"}},
		{"a write that is held", "rec-15", 68, 24, []string{">= | | | | +>* 35 KV.Txn", `|| held by breakpoint "txn" at its start`}},
		{"a second attempt", "rec-16", 68, 40, []string{"50 steps", "> | | | | +>* 45 - KV.Txn", "why: the key was still at revision 16"}},
		{"a write that was made to fail", "rec-17", 68, 30, []string{">!* | | | | +>* 35 KV.Txn", `* failed by fault "fails"`, `error: injected by fault "fails"`}},
		{"a narrow pane", "rec-7", 58, 20, []string{"40 steps", "> | | | | +>* 35 - KV.Txn", "why: the key was still at revision 6"}},
		{"a low pane", "rec-7", 80, 7, []string{"40 steps", "transform | | | | * 34 TransformToStorage", "> etcd | | | | +>* 35 - KV.Txn"}},
	} {
		screentest.Shows(t, test.name, shown(t, test.journey, test.w, test.h).Render(true), test.shows...)
	}
}

// TestLanes draws steps whose callers and order are known.
func TestLanes(t *testing.T) {
	steps := []v1alpha1.Step{
		{Layer: "filter", Parent: -1},
		{Layer: "handler", Parent: -1},
		{Layer: "rest", Parent: 1},
		{Layer: "store", Parent: 2},
		{Layer: "etcd3", Parent: 3},
		{Layer: "etcd", Parent: 4},
		{Layer: "store", Parent: 4}, // climbs back up, while the storage waits
		{Layer: "store", Parent: 6},
		{Layer: "etcd3", Parent: 4}, // control is back in the storage
		{Layer: "handler", Parent: 1},
		{Layer: "elsewhere", Parent: 9},
		{Layer: "rest", Parent: 99},
	}
	want := []string{
		"*          ",
		"*          ",
		"+>*        ",
		"| +>*      ",
		"| | +-->*  ",
		"| | |   +>*",
		"| | *<--+  ",
		"| | *   |  ",
		"| | ···>*  ",
		"*<·······  ",
		"           ",
		"  *        ",
	}
	for i := range steps {
		if got := drawLane(steps, i, i-1); got != want[i] {
			t.Errorf("%d: %q, want %q", i, got, want[i])
		}
	}
	for _, test := range []struct{ from, to, want string }{
		{"etcd", "cacher", "      o<~~~"}, {"cacher", "cacher", "      o    "}, {"cacher", "handler", "o<~~~~~    "}, {"", "cacher", "      o    "}, {"cacher", "?", "           "},
	} {
		if got := causes(test.from, test.to); got != test.want {
			t.Errorf("%s to %s: %q, want %q", test.from, test.to, got, test.want)
		}
	}
}

// TestColumns says what goes first as there is less room.
func TestColumns(t *testing.T) {
	for _, test := range []struct {
		w    int
		want string
	}{
		{200, "why layer lanes"}, {118, "why layer lanes"}, {107, "why lanes"}, {92, "layer lanes"}, {66, "lanes"}, {58, "lanes"}, {45, "layer"}, {38, "layer"}, {37, ""}, {20, ""},
	} {
		c := columnsFor(test.w, 30)
		var got []string
		for name, w := range map[string]int{"why": c.why, "layer": c.layer, "lanes": c.lanes} {
			if w > 0 && strings.Contains(test.want, name) {
				got = append(got, name)
			} else if w > 0 {
				t.Errorf("at %d there is %s", test.w, name)
			}
		}
		if len(got) != len(strings.Fields(test.want)) {
			t.Errorf("at %d there are %v, want %s", test.w, got, test.want)
		}
	}
}

// TestStart says where the cursor is when a request is opened: for a read, where it was decided who answers, and for a write, where etcd took it.
func TestStart(t *testing.T) {
	for journey, want := range map[string]string{"rec-2": "cacher.get", "rec-3": "cacher.get", "rec-7": "etcd.txn", "rec-8": "store.try-update"} {
		p := shown(t, journey, 68, 40)
		at := p.Selected()
		if at < 0 || p.journey.Status.Steps[at].ID != want {
			t.Errorf("%s begins at step %d, want %s", journey, at+1, want)
		}
	}
	// A step that failed on the way, which its caller put up with, is not where a request was refused.
	p := shown(t, "rec-8", 68, 40)
	j := p.journey.DeepCopy()
	j.Name = "another"
	for i := range j.Status.Steps {
		if s := &j.Status.Steps[i]; s.ID == "handler.decode" {
			s.Error = "tolerated"
		}
	}
	p.Show(j, CountChanges(j))
	if at := p.Selected(); j.Status.Steps[at].ID != "store.try-update" {
		t.Errorf("with a failure that was put up with it begins at %s", j.Status.Steps[at].ID)
	}
}

// TestNext goes through all rows, past what is folded, and back.
func TestNext(t *testing.T) {
	p := shown(t, "rec-7", 68, 40)
	p.Handle(keys.Top)
	rows := 1
	for p.Next() {
		rows++
	}
	if rows != len(p.rows) || p.Next() {
		t.Errorf("n went through %d rows of %d", rows, len(p.rows))
	}
	p.Handle(keys.Up)
	if !p.Next() {
		t.Error("n does not come back to the last row")
	}
}

func TestFolds(t *testing.T) {
	p := shown(t, "rec-7", 68, 60)
	all := len(p.rows)
	if !p.Select("etcd.txn") || p.journey.Status.Steps[p.Selected()].ID != "etcd.txn" {
		t.Fatalf("the cursor is at %d", p.Selected())
	}
	txn := p.Selected()
	// What the write caused hangs below it, behind its detail.
	below := p.current().children[1:]
	if len(below) != 4 || below[0].kind != isMark || below[3].kind != isDelivery {
		t.Fatalf("%d things hang below the write", len(below))
	}
	p.Handle(keys.Down)
	p.Handle(keys.Down)
	if p.Mark() != 0 || p.Selected() != txn {
		t.Errorf("mark %d, step %d", p.Mark(), p.Selected())
	}
	p.Fold()
	p.Fold()
	if len(p.rows) != all-5 {
		t.Errorf("%d rows, want %d", len(p.rows), all-5)
	}
	p.SelectStep(3)
	if p.Selected() != 3 {
		t.Errorf("a filter that was folded can't be selected: %d", p.Selected())
	}
	if p.Select("none") {
		t.Error("there is a step none")
	}
}

// TestNobodyCaused shows marks of a revision that no recorded step made.
func TestNobodyCaused(t *testing.T) {
	j := screentest.Journey(t, "rec-7")
	j.Status.Marks[0].Revision = 9999
	p := New(theme.Plain)
	p.SetSize(68, 60)
	p.Show(j, CountChanges(j))
	if last := p.rows[len(p.rows)-1]; last.kind != isMark || last.step != -1 {
		t.Errorf("%+v", last)
	}
	p.Render(true)
}

// hostile is a journey that means no good: to the terminal, and by what it says of its steps.
func hostile(t testing.TB) *v1alpha1.Journey {
	j := screentest.Journey(t, "rec-16")
	for i := range j.Status.Steps {
		s := &j.Status.Steps[i]
		s.Parent += int32(i%3) * 7
		s.TookNanos *= -3
		s.Layer = []string{s.Layer, "x", ""}[i%3]
	}
	j.Status.Interventions = append(j.Status.Interventions, v1alpha1.Intervention{Step: -7}, v1alpha1.Intervention{Step: 1000})
	j.Status.Held = []v1alpha1.HeldStep{{Step: -1}, {Step: 99}}
	return j
}

func TestSizes(t *testing.T) {
	for _, j := range []*v1alpha1.Journey{screentest.Journey(t, "rec-12"), hostile(t), {}} {
		p := New(theme.Plain)
		p.Show(j, CountChanges(j))
		for _, focused := range []bool{false, true} {
			screentest.PaneSizes(t, "steps", func(w, h int) []string {
				p.SetSize(w, h)
				p.Handle(keys.Down)
				return p.Render(focused)
			})
		}
	}
}

func BenchmarkRender(b *testing.B) {
	p := shown(b, "rec-12", 115, 39)
	for b.Loop() {
		p.version++
		p.Render(true)
	}
}
