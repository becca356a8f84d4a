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
	"github.com/kx-apiserver/kx/core/lang"
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
		golden(t, name, text(story.Of(j, lang.English)))
	}
}

// TestChineseStories tells journeys in Chinese: the same steps in the same order.
func TestChineseStories(t *testing.T) {
	all := recorded(t)
	for _, name := range []string{"get", "create", "conflict", "watch"} {
		told := story.Of(all[name], lang.Chinese)
		golden(t, name+".zh", text(told))
		for i, english := range story.Of(all[name], lang.English) {
			if l := told[i]; l.Step != english.Step || l.Depth != english.Depth || l.Failed != english.Failed {
				t.Errorf("%s: line %d is %+v, in English %+v", name, i, l, english)
			}
		}
	}
}

// golden compares a story with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
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

// TestEveryStep tells each step that there is, of something and of nothing.
func TestEveryStep(t *testing.T) {
	for _, id := range trace.All() {
		for _, about := range []string{"", "/a/subject"} {
			j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{
				{ID: id.String(), Layer: id.Info().Layer.String(), Title: "no sentence", Parent: -1, Subject: about, TookNanos: -1},
			}}}
			for in, end := range map[lang.Language]string{lang.English: ".", lang.Chinese: "。"} {
				got := story.Of(j, in)[1].Text
				if strings.ContainsAny(got, "{}") || strings.Contains(got, "  ") || strings.Contains(got, "no sentence") || !strings.HasSuffix(got, end) {
					t.Errorf("%s of %q in %s: %q", id, about, in, got)
				}
			}
		}
	}
}

// TestDetails tells details that follow one another in one sentence, unless one of them fails or called another step.
func TestDetails(t *testing.T) {
	step := func(id trace.ID, parent int32, err string) v1alpha1.Step {
		return v1alpha1.Step{ID: id.String(), Layer: id.Info().Layer.String(), Parent: parent, Subject: "app", TookNanos: 1000, Error: err}
	}
	j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{
		step(trace.HandlerGet, -1, ""),
		step(trace.HandlerNamer, 0, ""), step(trace.HandlerMediaType, 0, ""), step(trace.HandlerOptions, 0, "refused"),
		step(trace.StoreKey, 0, ""), step(trace.HandlerTransform, 0, ""), step(trace.HandlerTable, 5, ""),
	}}}
	for in, want := range map[lang.Language][]string{
		lang.English: {
			"The names are read from the request, the form of the answer is chosen by the Accept header. (2µs)",
			"The options of the verb are decoded: app; it fails: refused. (1µs)",
			"KeyFunc makes the key of app. (1µs)",
		},
		lang.Chinese: {
			"从请求中读出名称，按 Accept 请求头选择响应的形式（2µs）。",
			"解码动词的选项：app；失败：refused（1µs）。",
			"KeyFunc 生成 app 的键（1µs）。",
		},
	} {
		told := story.Of(j, in)
		if len(told) != 8 {
			t.Fatalf("%d lines in %s", len(told), in)
		}
		for i, text := range want {
			if got := told[2+i]; got.Text != text || got.Depth != 1 {
				t.Errorf("%s: %q, want %q", in, got.Text, text)
			}
		}
	}
}

// TestHeld tells where a request is held. A capture may say that one is held, and not where.
func TestHeld(t *testing.T) {
	j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Phase: v1alpha1.JourneyHeld}}
	if got := story.Of(j, lang.English)[1].Text; got != "It still runs." {
		t.Errorf("held nowhere: %q", got)
	}
	j.Status.Held = []v1alpha1.HeldStep{{ID: "etcd.txn", By: `breakpoint "b1"`}}
	if got := story.Of(j, lang.English)[1].Text; got != `It is held there: breakpoint "b1" at etcd.txn.` {
		t.Errorf("held: %q", got)
	}
}

// TestUnknown tells a capture of a later kx, with steps that this one does not have.
func TestUnknown(t *testing.T) {
	j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{
		{ID: "later.step", Title: "does what is new", Subject: "x\x1b[2J", Parent: 7, TookNanos: 1200},
	}}}
	if got := story.Of(j, lang.English)[1]; got.Text != `does what is new x\x1b[2J. (1.2µs)` || got.Depth != 0 {
		t.Errorf("%+v", got)
	}
}
