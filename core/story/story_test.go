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
	byName := map[string]*v1alpha1.Journey{}
	for _, file := range []string{"testdata/journeys.json", "testdata/gets.json"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list v1alpha1.JourneyList
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			byName[list.Items[i].Name] = &list.Items[i]
		}
	}
	return byName
}

// whole are all lines of the story of a journey.
func whole(j *v1alpha1.Journey, in lang.Language) []story.Line {
	s := story.Tell(j, in)
	s.UnfoldAll(true)
	return s.Lines()
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
	golden(t, "conflict", text(whole(conflict, lang.English)))
	golden(t, "conflict.zh", text(whole(conflict, lang.Chinese)))
	for _, name := range []string{"cached", "plain", "converted", "conflict"} {
		golden(t, "folded-"+name, text(story.Tell(recorded(t)[name], lang.English).Lines()))
	}
	golden(t, "folded-plain.zh", text(story.Tell(recorded(t)["plain"], lang.Chinese).Lines()))
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
	const filters = "filter.audit-init filter.panic-recovery filter.request-info filter.latency filter.wait-group filter.deadline " +
		"filter.warnings filter.cors filter.authentication filter.tracing filter.audit filter.impersonation filter.in-flight filter.authorization"
	for name, want := range outlines {
		want = strings.Replace(want, "filter.audit-init", filters, 1)
		for _, in := range []lang.Language{lang.English, lang.Chinese} {
			if got := outline(all[name], whole(all[name], in)); got != " "+strings.Join(strings.Fields(want), " ") {
				t.Errorf("%s in %s is\n%s", name, in, got)
			}
		}
	}
}

// TestFacts tells what the journey says, whatever the words around it: who asked for what with which program, what each step was
// about and why it went as it did, how it failed, how the request ended, and who was told of the write.
func TestFacts(t *testing.T) {
	for name, j := range recorded(t) {
		lines := whole(j, lang.English)
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
		told := text(lines)
		wants(t, name, told, "system:masters may do all", fmt.Sprint(j.Status.Code), fmt.Sprint(j.Status.Bytes))
		for _, d := range j.Status.Deliveries {
			wants(t, name, told, d.Watcher, d.User, d.Type, fmt.Sprint(d.Revision))
		}
		for _, text := range []string{told, text(whole(j, lang.Chinese))} {
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
		wants(t, name, text(whole(recorded(t)[name], lang.English)), strings.Fields(subjects)...)
		wants(t, name, text(whole(recorded(t)[name], lang.Chinese)), strings.Fields(subjects)...)
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
				got := whole(j, in)[1].Text
				if strings.ContainsAny(got, "{}") || strings.Contains(got, "  ") || strings.Contains(got, "no sentence") || !strings.HasSuffix(got, end) {
					t.Errorf("%s of %q in %s: %q", id, about, in, got)
				}
			}
		}
	}
}

// TestRepeatedReads tells reads of one thing once, with their number, if they went the same way to the same result. One that went
// otherwise or failed is told for itself.
func TestRepeatedReads(t *testing.T) {
	step := func(id steps.ID, parent int32, subject string) v1alpha1.Step {
		return v1alpha1.Step{ID: id.String(), Layer: id.Info().Layer.String(), Parent: parent, Subject: subject, TookNanos: 1000}
	}
	journey := func() *v1alpha1.Journey {
		return &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{
			step(steps.HandlerCreate, -1, ""), step(steps.HandlerMutate, 0, "CREATE"),
			step(steps.HandlerAdmit, 1, "NamespaceLifecycle"), step(steps.StoreGet, 2, "/namespaces/a"), step(steps.CacherGet, 3, "/namespaces/a"),
			step(steps.HandlerAdmit, 1, "LimitRanger"), step(steps.StoreGet, 5, "/namespaces/a"), step(steps.CacherGet, 6, "/namespaces/a"),
			step(steps.HandlerAdmit, 1, "Priority"), step(steps.StoreGet, 8, "/namespaces/b"), step(steps.CacherGet, 9, "/namespaces/b"),
		}}}
	}
	other := journey()
	other.Status.Steps[7].Why = "it had not been asked before"
	failed := journey()
	failed.Status.Steps[6].Error = "refused"
	for _, test := range []struct {
		name    string
		journey *v1alpha1.Journey
		reads   int
		want    string
	}{
		{"the same", journey(), 2, "The generic Store gets /namespaces/a, 2 times with the same result. (1µs)"},
		{"another way", other, 3, "The generic Store gets /namespaces/a. (1µs)"},
		{"failed", failed, 3, "The generic Store gets /namespaces/a; it fails: refused. (1µs)"},
	} {
		told := text(whole(test.journey, lang.English))
		if n := strings.Count(told, "The generic Store gets"); n != test.reads || !strings.Contains(told, test.want) {
			t.Errorf("%s: %d reads in\n%s", test.name, n, told)
		}
		if strings.Count(told, "LimitRanger") != 1 {
			t.Errorf("%s: who read is lost in\n%s", test.name, told)
		}
	}
	wants(t, "Chinese", text(whole(journey(), lang.Chinese)), "通用 Store 读取 /namespaces/a，共 2 次，结果相同")
}

// TestHeld tells where a request is held. A capture may say that one is held, and not where.
func TestHeld(t *testing.T) {
	j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Phase: v1alpha1.JourneyHeld}}
	if got := whole(j, lang.English)[1].Text; got != "It still runs." {
		t.Errorf("held nowhere: %q", got)
	}
	j.Status.Held = []v1alpha1.HeldStep{{ID: "etcd.txn", By: `breakpoint "b1"`}}
	if got := whole(j, lang.English)[1].Text; got != `It is held there: breakpoint "b1" at etcd.txn.` {
		t.Errorf("held: %q", got)
	}
}

// TestUnknown tells a capture of a later kx, with steps that this one does not have.
func TestUnknown(t *testing.T) {
	j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{
		{ID: "later.step", Title: "does what is new", Subject: "x\x1b[2J", Parent: 7, TookNanos: 1200},
	}}}
	if got := whole(j, lang.English)[1]; got.Text != `does what is new x\x1b[2J. (1.2µs)` || got.Depth != 0 {
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
			if got := whole(j, in)[1].Text; !strings.Contains(got, want) {
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
				s := story.Tell(j, in, others...)
				folded := s.Lines()
				if s.UnfoldAll(true); len(folded) > len(s.Lines()) {
					t.Fatalf("%d lines folded, %d unfolded", len(folded), len(s.Lines()))
				}
				for _, l := range append(folded, s.Lines()...) {
					if raw := escapetest.Find(l.Text, ""); raw != "" || l.Step < -1 || l.Step >= len(j.Status.Steps) || l.Depth < 0 {
						t.Fatalf("%s in %+v", raw, l)
					}
				}
			}
		}
	})
}
