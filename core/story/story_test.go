package story_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/core/trace"
)

var rewrite = flag.Bool("rewrite", false, "write the stories anew")

// recorded are journeys of a real server.
func recorded(t *testing.T) map[string]*v1alpha1.Journey {
	t.Helper()
	data, err := os.ReadFile("testdata/journeys.json")
	if err != nil {
		t.Fatal(err)
	}
	var list v1alpha1.JourneyList
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	byName := map[string]*v1alpha1.Journey{}
	for i := range list.Items {
		byName[list.Items[i].Name] = &list.Items[i]
	}
	return byName
}

// text is a story as a terminal shows it.
func text(lines []story.Line) string {
	var b strings.Builder
	for _, l := range lines {
		mark := " "
		if l.Failed {
			mark = "!"
		}
		fmt.Fprintf(&b, "%s %s%s\n", mark, strings.Repeat("  ", l.Depth), l.Text)
	}
	return b.String()
}

// TestStories tells a get, a create, an update that failed, one that was tried twice, and a watch.
func TestStories(t *testing.T) {
	all := recorded(t)
	for _, name := range []string{"get", "create", "conflict", "patch", "custom", "watch"} {
		j := all[name]
		if j == nil {
			t.Fatalf("no journey %s was recorded", name)
		}
		got := text(story.Of(j))
		file := filepath.Join("testdata", name+".txt")
		if *rewrite {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || got != string(want) {
			t.Errorf("%s is told otherwise (-rewrite writes it): %v\n%s", name, err, got)
		}
	}
}

// TestEveryStep tells each step that there is, of something and of nothing.
func TestEveryStep(t *testing.T) {
	for _, id := range trace.All() {
		for _, about := range []string{"", "/a/subject"} {
			j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{
				{ID: id.String(), Layer: id.Info().Layer.String(), Title: "no sentence", Parent: -1, Subject: about, TookNanos: -1},
			}}}
			got := story.Of(j)[1].Text
			if strings.ContainsAny(got, "{}") || strings.Contains(got, "  ") || strings.Contains(got, "no sentence") || !strings.HasSuffix(got, ".") {
				t.Errorf("%s of %q: %q", id, about, got)
			}
		}
	}
}

// TestHeld tells where a request is held. A capture may say that one is held, and not where.
func TestHeld(t *testing.T) {
	j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Phase: v1alpha1.JourneyHeld}}
	if got := story.Of(j)[1].Text; got != "It still runs." {
		t.Errorf("held nowhere: %q", got)
	}
	j.Status.Held = []v1alpha1.HeldStep{{ID: "etcd.txn", By: `breakpoint "b1"`}}
	if got := story.Of(j)[1].Text; got != `It is held there: breakpoint "b1" at etcd.txn.` {
		t.Errorf("held: %q", got)
	}
}

// TestUnknown tells a capture of a later kx, with steps that this one does not have.
func TestUnknown(t *testing.T) {
	j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{
		{ID: "later.step", Title: "does what is new", Subject: "x\x1b[2J", Parent: 7, TookNanos: 1200},
	}}}
	if got := story.Of(j)[1]; got.Text != `does what is new x\x1b[2J. (1.2µs)` || got.Depth != 0 {
		t.Errorf("%+v", got)
	}
}
