package story_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/story"
)

// gets are the recorded reads of one object: by the watch cache alone, by the cache once etcd has told the revision, by etcd, and of
// custom resources as they are stored and in another version.
var gets = []string{"cached", "plain", "get", "custom-get", "converted"}

// has reports whether lines have one of a step.
func has(lines []story.Line, step int) bool {
	return slices.ContainsFunc(lines, func(l story.Line) bool { return l.Step == step })
}

// TestGetIsShort opens the story of a GET with at most 12 sentences, the step that decided among them.
func TestGetIsShort(t *testing.T) {
	all := recorded(t)
	for _, name := range gets {
		for _, in := range []lang.Language{lang.English, lang.Chinese} {
			lines := story.Tell(all[name], in).Lines()
			if len(lines) > 12 || len(lines) < 8 {
				t.Errorf("%s has %d sentences in %s:\n%s", name, len(lines), in, text(lines))
			}
			if decided := story.Decided(all[name]); decided < 0 || !has(lines, decided) {
				t.Errorf("%s does not tell in %s what decided:\n%s", name, in, text(lines))
			}
		}
	}
}

// TestUnfolded has a line for each step once all is unfolded, repeated reads apart, and is as before once all is folded.
func TestUnfolded(t *testing.T) {
	for name, j := range recorded(t) {
		s := story.Tell(j, lang.English)
		folded := s.Lines()
		if !s.UnfoldAll(true) || s.UnfoldAll(true) {
			t.Errorf("%s: nothing was folded, or is still", name)
		}
		for i := range j.Status.Steps {
			if name != "create" && !has(s.Lines(), i) { // the plugins that a create asks read one namespace several times
				t.Errorf("%s does not tell of step %d, %s", name, i, j.Status.Steps[i].ID)
			}
			if at := s.Reveal(i); s.Lines()[at].Step > i {
				t.Errorf("%s: step %d is at %+v", name, i, s.Lines()[at])
			}
		}
		if !s.UnfoldAll(false) || !slices.Equal(s.Lines(), folded) {
			t.Errorf("%s is not as before:\n%s", name, text(s.Lines()))
		}
	}
}

// TestReveal goes from a folded story to each step, and unfolds what has it alone.
func TestReveal(t *testing.T) {
	j := recorded(t)["plain"]
	for i := range j.Status.Steps {
		s := story.Tell(j, lang.English)
		folded := len(s.Lines())
		was := has(s.Lines(), i)
		if at := s.Reveal(i); s.Lines()[at].Step != i || was != (len(s.Lines()) == folded) {
			t.Errorf("step %d is at line %d in\n%s", i, at, text(s.Lines()))
		}
		unfolded := 0
		for part := range s.Parts {
			if s.Unfolded(part) {
				unfolded++
			}
		}
		if unfolded > 1 {
			t.Errorf("step %d unfolded %d parts", i, unfolded)
		}
	}
	s := story.Tell(j, lang.English)
	if s.Find("KeyFunc MAKES"); len(s.Lines()) != len(story.Tell(j, lang.English).Lines())+2 {
		t.Errorf("found in\n%s", text(s.Lines()))
	}
	if s.Reveal(-1) != 0 || s.Unfold(0, true) || s.Unfold(99, true) {
		t.Error("no step is not at the beginning, or a sentence about the whole request unfolds")
	}
}

// TestNeverFolded tells a step that failed, the one at which the request is held, and a webhook, though their layer is folded.
func TestNeverFolded(t *testing.T) {
	step := func(id steps.ID, parent int32, err string) v1alpha1.Step {
		return v1alpha1.Step{ID: id.String(), Layer: id.Info().Layer.String(), Parent: parent, Subject: "app", TookNanos: 1000, Error: err}
	}
	j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{
		step(steps.HandlerCreate, -1, ""), step(steps.HandlerNamer, 0, ""), step(steps.HandlerMediaType, 0, ""),
		step(steps.HandlerOptions, 0, "refused"), step(steps.HandlerDecode, 0, ""),
		step(steps.HandlerMutate, 0, ""), step(steps.HandlerAdmit, 5, ""), step(steps.HandlerWebhook, 6, ""),
		step(steps.RESTCreate, 0, ""), step(steps.StoreKey, 8, ""), step(steps.StoreCreate, 8, ""), step(steps.StoreBeforeCreate, 10, ""),
	}, Held: []v1alpha1.HeldStep{{Step: 11, ID: "store.before-create", By: "a breakpoint"}}}}
	lines := story.Tell(j, lang.English).Lines()
	for i, want := range []bool{true, false, false, true, false, true, false, true, true, false, true, true} {
		if has(lines, i) != want {
			t.Errorf("step %d, %s: %v in\n%s", i, j.Status.Steps[i].ID, !want, text(lines))
		}
	}
	for _, want := range []string{
		"createHandler takes the request. (1µs; 4 steps in handler: ", "Mutating admission begins: app. (1µs; 2 steps in admission: ",
	} {
		wants(t, "folds", text(lines), want)
	}
	if strings.Contains(text(lines), "steps in REST") {
		t.Errorf("one step is folded:\n%s", text(lines))
	}
}
