package story_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/story"
)

// walked is a walk as text: a line for each stop, with what was carried there and what came back.
func walked(w *story.Walk, in lang.Language) string {
	var b strings.Builder
	for _, s := range w.Stops {
		mark := " "
		if s.Decided {
			mark = "*"
		}
		if s.Failed {
			mark = "!"
		}
		fmt.Fprintf(&b, "%s %s: %s\n", mark, s.Box.Name(in), s.Text)
		if s.Carried != "" {
			fmt.Fprintf(&b, "      > %s\n", s.Carried)
		}
		if s.Back != "" {
			fmt.Fprintf(&b, "      < %s\n", s.Back)
		}
	}
	return b.String()
}

// TestWalks walks a read that etcd answers, a create, and an update that is refused.
func TestWalks(t *testing.T) {
	all := recorded(t)
	for _, name := range []string{"get", "create", "conflict"} {
		golden(t, "walk-"+name, walked(story.WalkOf(all[name], lang.English), lang.English))
	}
	golden(t, "walk-get.zh", walked(story.WalkOf(all["get"], lang.Chinese), lang.Chinese))
}

// TestWalksAreShort begins and ends at the client, decides at most once, says only sentences of the story, and is short enough to be
// walked before an audience.
func TestWalksAreShort(t *testing.T) {
	for name, j := range recorded(t) {
		w := story.WalkOf(j, lang.English)
		if n := len(w.Stops); n < 5 || n > 14 {
			t.Errorf("%s has %d stops", name, n)
		}
		if w.Stops[0].Box != story.Client || w.Stops[len(w.Stops)-1].Box != story.Client {
			t.Errorf("%s: %+v", name, w.Stops)
		}
		decided := 0
		for _, s := range w.Stops {
			if s.Decided {
				decided++
			}
			if !w.Touched[s.Box] {
				t.Errorf("%s stops at %s, which it did not touch", name, s.Box.Name(lang.English))
			}
			if !slices.ContainsFunc(append(story.Tell(j, lang.English).Lines(), whole(j, lang.English)...), func(l story.Line) bool {
				return l.Step == s.Step && l.Text == s.Text
			}) {
				t.Errorf("%s: the story does not have %+v", name, s.Line)
			}
		}
		if decided != 1 {
			t.Errorf("%s was decided at %d stops", name, decided)
		}
	}
}

// TestWalkOfPart walks what is not whole: a request that has no steps, one of which a step still runs, and one that is held.
func TestWalkOfPart(t *testing.T) {
	j := &v1alpha1.Journey{Spec: v1alpha1.JourneySpec{Verb: "get", Method: "GET", URI: "/a\x1b[2J"}}
	if w := story.WalkOf(j, lang.English); len(w.Stops) != 2 || strings.Contains(w.Stops[0].Text, "\x1b") || w.Touched[story.Handler] {
		t.Errorf("without steps: %+v", w)
	}
	j = recorded(t)["get"].DeepCopy()
	j.Status.Phase, j.Status.Steps = v1alpha1.JourneyHeld, j.Status.Steps[:18]
	for i := range j.Status.Steps[14:] {
		j.Status.Steps[14+i].TookNanos = -1
	}
	j.Status.Steps[17].Subject = "a\x1b[2J"
	j.Status.Held = []v1alpha1.HeldStep{{Step: 17, ID: "dryrun.get", By: "a breakpoint"}}
	w := story.WalkOf(j, lang.English)
	last := w.Stops[len(w.Stops)-2]
	if last.Step != 17 || last.Back != "nothing yet" || strings.Contains(last.Carried, "\x1b") || w.Touched[story.Cacher] {
		t.Errorf("held: %+v", last)
	}
}

// TestCodeAround cuts lines around one, near the ends of a file too.
func TestCodeAround(t *testing.T) {
	text := "package a\n\nfunc f() {\n\t\tif b {\n\t\t\treturn\n\t\t}\n\n\t\tg()\n}"
	for _, test := range []struct {
		line, first int
		want        string
	}{
		{5, 2, "\nfunc f() {\n\t\tif b {\n\t\t\treturn\n\t\t}\n"},
		{1, 1, "package a\n\nfunc f() {\n\t\tif b {\n\t\t\treturn\n\t\t}"},
		{9, 4, "\t\tif b {\n\t\t\treturn\n\t\t}\n\n\t\tg()\n}"},
	} {
		first, code := story.CodeAround(text, test.line)
		if want := strings.ReplaceAll(test.want, "\t", "    "); first != test.first || strings.Join(code, "\n") != want {
			t.Errorf("line %d: from %d\n%s", test.line, first, strings.Join(code, "\n"))
		}
	}
	if _, code := story.CodeAround("\t\ta\n\t\t\tb\n", 1); code[0] != "a" || code[1] != "    b" {
		t.Errorf("%q", code)
	}
	if _, code := story.CodeAround(text, 99); code != nil {
		t.Errorf("there is no line 99: %q", code)
	}
}
