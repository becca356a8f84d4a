package story_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/capture/capturetest"
	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/story"
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

// TestStories tells an update that failed, whole, in each language: these two files are read by people.
func TestStories(t *testing.T) {
	conflict := recorded(t)["conflict"]
	golden(t, "conflict", text(story.Tell(conflict, lang.English)))
	golden(t, "conflict.zh", text(story.Tell(conflict, lang.Chinese)))
}

// outline is what a story tells, without its words: the steps in their order, indented by ">" for each step that leads to one, "!"
// before those that failed, and "-" for a sentence about the request as a whole.
func outline(j *v1alpha1.Journey, lines []story.Line) string {
	var b strings.Builder
	for _, l := range lines {
		mark, id := "", "-"
		if l.Failed {
			mark = "!"
		}
		if l.Step >= 0 {
			id = j.Status.Steps[l.Step].ID
		}
		fmt.Fprintf(&b, " %s%s%s", strings.Repeat(">", l.Depth), mark, id)
	}
	return b.String()
}

// outlines are the stories of the other recorded journeys: a get, a create, an update that a watch is sent, a write of a custom
// resource, and a watch.
var outlines = map[string]string{
	"get": `
		- filter.audit-init handler.get >rest.get >>store.get >>>dryrun.get >>>>cacher.get >>>>>etcd3.get >>>>>>etcd.get
		>>>>>>transform.from-storage >handler.encode >>handler.table -`,
	"create": `
		- filter.audit-init handler.create >handler.decode >>handler.default >handler.managed-fields >handler.mutate
		>>handler.admit >>>store.get >>>>dryrun.get >>>>>cacher.get >>>>>>etcd.key-revision >rest.create >>store.create
		>>>store.before-create >>>>store.prepare >>>handler.validate >>>dryrun.create >>>>etcd3.create >>>>>etcd3.encode
		>>>>>transform.to-storage >>>>>etcd.txn >>>>>etcd3.decode >handler.encode -`,
	"patch": `
		- filter.audit-init handler.patch >rest.update >>store.update >>>dryrun.update >>>>cacher.update >>>>>etcd3.update
		>>>>>>etcd3.decode >>>>>>store.try-update >>>>>>>handler.apply-patch >>>>>>>>handler.default
		>>>>>>>handler.managed-fields >>>>>>>store.before-update >>>>>>>>store.prepare >>>>>>etcd3.encode >>>>>>transform.to-storage >>>>>>etcd.txn
		>>>>>>etcd3.decode >handler.encode - - - - -`,
	"custom": `
		- filter.audit-init crd.serve >crd.info >crd.serve-resource >>handler.create >>>handler.decode >>>>crd.prune
		>>>>crd.default >>>handler.managed-fields >>>handler.mutate >>>>handler.admit >>>>>store.get >>>>>>dryrun.get
		>>>>>>>cacher.get >>>>>>>>etcd.key-revision >>>rest.create >>>>store.create >>>>>store.before-create
		>>>>>>store.prepare >>>>>>crd.validate >>>>>>>crd.cel >>>>>handler.validate >>>>>dryrun.create >>>>>>etcd3.create
		>>>>>>>etcd3.encode >>>>>>>transform.to-storage >>>>>>>etcd.txn >>>>>>>etcd3.decode >>>handler.encode -`,
	"watch": `
		- filter.audit-init handler.watch >rest.watch >>store.watch >>>dryrun.watch >>>>cacher.watch >handler.watch-event
		>>handler.table -`,
}

// TestOutlines tells the same steps in the same order in each language.
func TestOutlines(t *testing.T) {
	all := recorded(t)
	for name, want := range outlines {
		for _, in := range []lang.Language{lang.English, lang.Chinese} {
			if got := outline(all[name], story.Tell(all[name], in)); got != " "+strings.Join(strings.Fields(want), " ") {
				t.Errorf("%s in %s is\n%s", name, in, got)
			}
		}
	}
}

// TestFacts tells what the journey says, whatever the words around it: who asked for what with which program, what each step was
// about and why it went as it did, how it failed, how the request ended, and who was told of the write.
func TestFacts(t *testing.T) {
	for name, j := range recorded(t) {
		lines := story.Tell(j, lang.English)
		agent, _, _ := strings.Cut(j.Spec.UserAgent, " ")
		wants(t, name, lines[0].Text, j.Spec.User, j.Spec.Method, j.Spec.URI, agent)
		for _, l := range lines {
			if l.Step < 0 || j.Status.Steps[l.Step].Layer == steps.LayerFilter.String() {
				continue
			}
			s := &j.Status.Steps[l.Step]
			wants(t, name, l.Text, s.Why)
			if l.Failed != (s.Error != "") {
				t.Errorf("%s: %+v of a step that ended with %q", name, l, s.Error)
			}
		}
		whole := text(lines)
		wants(t, name, whole, "system:masters may do all", fmt.Sprint(j.Status.Code), fmt.Sprint(j.Status.Bytes))
		for _, d := range j.Status.Deliveries {
			wants(t, name, whole, d.Watcher, d.User, d.Type, fmt.Sprint(d.Revision))
		}
		for _, text := range []string{whole, text(story.Tell(j, lang.Chinese))} {
			if raw := escapetest.Find(text, "\n"); raw != "" || strings.ContainsAny(text, "{}") {
				t.Errorf("%s has %s or a brace:\n%s", name, raw, text)
			}
		}
	}
}

// wants fails the test unless a text has all parts.
func wants(t *testing.T, name, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %q is missing in\n%s", name, part, text)
		}
	}
}

// TestSubjects tells of a step what it was about, where its sentence has a place for that.
func TestSubjects(t *testing.T) {
	for name, subjects := range map[string]string{
		"get":    "demo /configmaps/default/demo /registry/configmaps/default/demo ConfigMap",
		"create": "CREATE NamespaceLifecycle /namespaces/default /registry/namespaces/default configmap.Resource",
		"patch":  "application/merge-patch+json /registry/configmaps/default/demo",
		"custom": "crontabs.stable.example.com /registry/stable.example.com/crontabs/default/nightly spec.odd spec.replicas",
		"watch":  "/configmaps/default MODIFIED",
	} {
		wants(t, name, text(story.Tell(recorded(t)[name], lang.English)), strings.Fields(subjects)...)
		wants(t, name, text(story.Tell(recorded(t)[name], lang.Chinese)), strings.Fields(subjects)...)
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
	for _, id := range steps.All() {
		for _, about := range []string{"", "/a/subject"} {
			j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{
				{ID: id.String(), Layer: id.Info().Layer.String(), Title: "no sentence", Parent: -1, Subject: about, TookNanos: -1},
			}}}
			for in, end := range map[lang.Language]string{lang.English: ".", lang.Chinese: "。"} {
				got := story.Tell(j, in)[1].Text
				if strings.ContainsAny(got, "{}") || strings.Contains(got, "  ") || strings.Contains(got, "no sentence") || !strings.HasSuffix(got, end) {
					t.Errorf("%s of %q in %s: %q", id, about, in, got)
				}
			}
		}
	}
}

// TestDetails tells details that follow one another in one sentence, unless one of them fails or called another step.
func TestDetails(t *testing.T) {
	step := func(id steps.ID, parent int32, err string) v1alpha1.Step {
		return v1alpha1.Step{ID: id.String(), Layer: id.Info().Layer.String(), Parent: parent, Subject: "app", TookNanos: 1000, Error: err}
	}
	j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{
		step(steps.HandlerGet, -1, ""),
		step(steps.HandlerNamer, 0, ""), step(steps.HandlerMediaType, 0, ""), step(steps.HandlerOptions, 0, "refused"),
		step(steps.StoreKey, 0, ""), step(steps.HandlerTransform, 0, ""), step(steps.HandlerTable, 5, ""),
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
		told := story.Tell(j, in)
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
	if got := story.Tell(j, lang.English)[1].Text; got != "It still runs." {
		t.Errorf("held nowhere: %q", got)
	}
	j.Status.Held = []v1alpha1.HeldStep{{ID: "etcd.txn", By: `breakpoint "b1"`}}
	if got := story.Tell(j, lang.English)[1].Text; got != `It is held there: breakpoint "b1" at etcd.txn.` {
		t.Errorf("held: %q", got)
	}
}

// TestUnknown tells a capture of a later kx, with steps that this one does not have.
func TestUnknown(t *testing.T) {
	j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{
		{ID: "later.step", Title: "does what is new", Subject: "x\x1b[2J", Parent: 7, TookNanos: 1200},
	}}}
	if got := story.Tell(j, lang.English)[1]; got.Text != `does what is new x\x1b[2J. (1.2µs)` || got.Depth != 0 {
		t.Errorf("%+v", got)
	}
}

// TestTimes tells times of three digits, up to the longest that there is.
func TestTimes(t *testing.T) {
	for took, want := range map[int64]string{
		0: "0s", 1: "1ns", 999: "999ns", 1000: "1µs", 1234: "1.23µs", 123_456_789: "123ms", math.MaxInt64: "2561111h6m40s",
	} {
		j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{{ID: "later.step", Title: "does", TookNanos: took}}}}
		for _, in := range []lang.Language{lang.English, lang.Chinese} {
			if got := story.Tell(j, in)[1].Text; !strings.Contains(got, want) {
				t.Errorf("%d nanoseconds in %s: %q, want %s", took, in, got, want)
			}
		}
	}
}

// FuzzStory tells a recorded capture that was changed, in each language, each sentence on one line that acts on no terminal.
func FuzzStory(f *testing.F) {
	for _, recipe := range capturetest.Seeds() {
		f.Add(recipe)
	}
	f.Fuzz(func(t *testing.T, recipe []byte) {
		capturetest.Watch(t)
		all := capturetest.Read(capturetest.Changed(recipe))
		for _, j := range all {
			others := refusal.RelatedRequests(j, slices.Values(all))
			for _, in := range []lang.Language{lang.English, lang.Chinese} {
				for _, l := range story.Tell(j, in, others...) {
					if raw := escapetest.Find(l.Text, ""); raw != "" || l.Step < -1 || l.Step >= len(j.Status.Steps) || l.Depth < 0 {
						t.Fatalf("%s in %+v", raw, l)
					}
				}
			}
		}
	})
}
