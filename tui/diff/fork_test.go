package diff

import (
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
)

// recorded holds the journeys of the tests of core/story and tui/pane.
func recorded(t *testing.T) map[string]*v1alpha1.Journey {
	t.Helper()
	all := map[string]*v1alpha1.Journey{}
	for _, file := range []string{"../../core/story/testdata/journeys.json", "../../core/story/testdata/gets.json", "../pane/testdata/journeys.json"} {
		for _, j := range tuitest.Recorded(t, file) {
			all[j.Name] = j
		}
	}
	return all
}

func forkOf(a, b *v1alpha1.Journey, in lang.Language) *Fork {
	return ForkOf(story.WalkOf(a, in), story.WalkOf(b, in), in)
}

// TestForks has pairs of requests part where the deciding steps differ, or else where one stops alone.
func TestForks(t *testing.T) {
	all := recorded(t)
	forbidden := all["get"].DeepCopy()
	for i := range forbidden.Status.Steps {
		if s := &forbidden.Status.Steps[i]; s.ID == "filter.authorization" {
			s.Error, s.Reason, s.Why = "forbidden", nil, "nobody may"
			forbidden.Status.Code, forbidden.Status.Steps = 403, forbidden.Status.Steps[:i+1]
			break
		}
	}
	elsewhere := all["rec-8"].DeepCopy() // as a dry run does, it tries the update below another step
	for i := range elsewhere.Status.Steps {
		if s := &elsewhere.Status.Steps[i]; s.ID == "etcd3.update" {
			s.ID = "etcd3.get"
		}
	}
	for _, test := range []struct {
		name string
		a, b *v1alpha1.Journey
		want string
	}{
		{"etcd and cache", all["get"], all["cached"], "They part in the box cacher. A: nobody had asked for this cache before: it begins to fill, and etcd answers. B: resourceVersion 0: whatever the cache has, at 230."},
		{"cached otherwise", all["plain"], all["cached"], "They part in the box cacher. A: resourceVersion unset: etcd has the key at 224, and so has the cache: cached bytes. B: resourceVersion 0: whatever the cache has, at 230."},
		{"200 and 409", all["rec-7"], all["rec-8"], "They part in the box Store. A: the request named no revision, so that any was good, and the object was at revision 6. B: the request was made on revision 6, and the object is at revision 7."},
		{"200 and 409 by another caller", all["rec-7"], elsewhere, "They part in the box Store. A: the request named no revision, so that any was good, and the object was at revision 6. B: the request was made on revision 6, and the object is at revision 7."},
		{"one without a reason of its own", all["rec-7"], all["conflict"], "They part in the box Store. A: the request named no revision, so that any was good, and the object was at revision 6. B: Operation cannot be fulfilled on configmaps \"demo\": the object has been modified; please apply your changes to the latest version and try again."},
		{"a dry run", all["rec-1"], all["rec-10"], "They part in the box Store. A: not a dry run: passed on. B: dry run: look whether the key is free, write nothing."},
		{"200 and 403", all["get"], forbidden, "They part in the box filters. A: system:masters may do all. B: nobody may."},
		{"the same with other values", all["rec-3"], all["plain"], "They go the same way to the end."},
		{"one and itself", all["conflict"], all["conflict"], "They go the same way to the end."},
		{"a read and a write", all["get"], all["patch"], "After the box etcd each goes its own way: A to etcd, B to Store."},
		{"nothing recorded", all["get"], &v1alpha1.Journey{}, "After the box client each goes its own way: A to filters, B to client."},
	} {
		for _, swapped := range []bool{false, true} {
			a, b := test.a, test.b
			if swapped {
				a, b = b, a
			}
			f := forkOf(a, b, lang.English)
			if !swapped && !strings.HasPrefix(f.why, test.want) {
				t.Errorf("%s: %s", test.name, f.why)
			}
			checkStops(t, test.name, f)
		}
	}
}

// TestConflictReasons says opposite to a conflict on which revision the other update was made, and which one the object had, as far as
// that was recorded.
func TestConflictReasons(t *testing.T) {
	all := recorded(t)
	try := func(j *v1alpha1.Journey) int {
		return slices.IndexFunc(j.Status.Steps, func(s v1alpha1.Step) bool { return s.ID == steps.StoreTryUpdate.String() })
	}
	update := func(change func(*v1alpha1.Journey)) *v1alpha1.Journey {
		j := all["rec-7"].DeepCopy()
		change(j)
		return j
	}
	body := func(j *v1alpha1.Journey) *v1alpha1.Step {
		return &j.Status.Steps[slices.IndexFunc(j.Status.Steps, func(s v1alpha1.Step) bool { return s.ID == steps.HandlerDecode.String() })]
	}
	sent := func(revision string) *v1alpha1.Journey {
		return update(func(j *v1alpha1.Journey) {
			body(j).After.Raw = []byte(`{"metadata":{"resourceVersion":"` + revision + `"}}`)
		})
	}
	for _, test := range []struct {
		name string
		a    *v1alpha1.Journey
		want string
	}{
		{"a revision", sent("6"), "the request was made on revision 6, and the object was still at it"},
		{"none", all["rec-7"], "the request named no revision, so that any was good, and the object was at revision 6"},
		{"none, as 0", sent("0"), "the request named no revision, so that any was good, and the object was at revision 6"},
		{"objects are not recorded", update(func(j *v1alpha1.Journey) { body(j).After = nil }), "the request was made on revision 6, and the object was still at it"},
		{"none, and objects are not recorded", update(func(j *v1alpha1.Journey) {
			body(j).After, j.Status.Steps[15].Reason = nil, &v1alpha1.Reason{Kind: reasonUnconditionalUpdate}
		}), "the request named no revision, so that any was good, and the object was at revision 6"},
		{"not through the handler", update(func(j *v1alpha1.Journey) { body(j).After, j.Status.Steps[15].ID = nil, "rest.other" }), "attempt 1: on revision 6"},
		{"a patch", all["rec-9"], "the patch was applied to the object as it was stored, at revision 7"},
		{"another revision", sent("5"), "attempt 1: on revision 6"},
		{"nothing was there", update(func(j *v1alpha1.Journey) { j.Status.Steps[try(j)].Attributes = nil }), "attempt 1: on revision 6"},
		{"a later attempt", update(func(j *v1alpha1.Journey) {
			again := j.Status.Steps[try(j)]
			again.Attributes = []v1alpha1.Attribute{{Name: "attempt", Value: "2"}, {Name: "revision", Value: "9"}}
			j.Status.Steps = append(j.Status.Steps, again)
		}), "the request named no revision, so that any was good, and the object was at revision 9"},
		{"another conflict", all["rec-8"], "the request was made on revision 6, and the object is at revision 7"},
	} {
		p := StepPair{A: try(test.a), B: try(all["rec-8"])}
		got := Reasons(test.a, all["rec-8"], p, lang.English)
		if got != [2]string{test.want, "the request was made on revision 6, and the object is at revision 7"} {
			t.Errorf("%s: %q", test.name, got)
		}
		if swapped := Reasons(all["rec-8"], test.a, StepPair{A: p.B, B: p.A}, lang.English); swapped != [2]string{got[1], got[0]} {
			t.Errorf("%s, swapped: %q", test.name, swapped)
		}
	}
}

// checkStops has both walks begin and end at their ends, never step back, and move at each position.
func checkStops(t *testing.T, name string, f *Fork) {
	t.Helper()
	last := [2]int{len(f.walks[0].Stops) - 1, len(f.walks[1].Stops) - 1}
	if f.Stops[0] != [2]int{} || f.Stops[len(f.Stops)-1] != last || f.Part < 0 || f.Part >= len(f.Stops) {
		t.Errorf("%s: %v, parting at %d, of walks that end at %v", name, f.Stops, f.Part, last)
	}
	for i := 1; i < len(f.Stops); i++ {
		was, at := f.Stops[i-1], f.Stops[i]
		a, b := at[0]-was[0], at[1]-was[1]
		if a < 0 || b < 0 || a > 1 || b > 1 || a+b == 0 {
			t.Errorf("%s: from %v to %v", name, was, at)
		}
		if i < f.Part && a+b == 2 && f.walks[0].Stops[at[0]].Box != f.walks[1].Stops[at[1]].Box {
			t.Errorf("%s: at %v they are in two boxes", name, at)
		}
	}
}

// TestForkText says at each position how the two ways are to each other, and tells both with each stop once.
func TestForkText(t *testing.T) {
	all := recorded(t)
	f := forkOf(all["get"], all["cached"], lang.English)
	for at := range f.Stops {
		if text := f.Text(at); (text == "Both come here.") != (at < f.Part) || (text == f.why) != (at >= f.Part) {
			t.Errorf("position %d: %s", at, text)
		}
	}
	told := f.Tell()
	if n := len(f.walks[0].Stops) + len(f.walks[1].Stops) + 1; len(told) != n {
		t.Errorf("%d lines, want %d:\n%s", len(told), n, strings.Join(told, "\n"))
	}
	if at := 2 * (f.Part + 1); told[at] != f.why || !strings.HasPrefix(told[at-2], "A 6/9 cacher: ") || !strings.HasPrefix(told[at-1], "B 6/7 cacher: ") ||
		!strings.HasPrefix(told[at+1], "A 7/9 etcd: ") {
		t.Errorf("%s", strings.Join(told, "\n"))
	}
	if f := forkOf(all["get"], all["cached"], lang.Chinese); !strings.Contains(f.why, "此前没有人用过这个缓存") {
		t.Errorf("%s", f.why)
	}
	alone := forkOf(all["rec-10"], all["rec-1"], lang.English)
	for at := 1; at <= alone.Part; at++ {
		was, is := alone.Stops[at-1], alone.Stops[at]
		want := map[bool]string{true: "A alone stops here.", false: "Both come here."}[was[1] == is[1]]
		if was[0] == is[0] {
			want = "B alone stops here."
		}
		if got := alone.Text(at); at < alone.Part && got != want {
			t.Errorf("from %v to %v: %s", was, is, got)
		}
	}
}
