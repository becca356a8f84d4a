package detail

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/source"
	"github.com/kx-apiserver/kx/tui/theme"
)

// shown has a recorded journey open at the last step of an ID.
func shown(t testing.TB, name, step string, w, h int) *Pane {
	t.Helper()
	p := New(theme.Plain)
	p.SetSize(w, h)
	j := screentest.Journey(t, name)
	p.Show(j, stepOf(j, step), "kubectl get configmap demo")
	return p
}

func stepOf(j *v1alpha1.Journey, id string) int {
	last := -1
	for i := range j.Status.Steps {
		if j.Status.Steps[i].ID == id {
			last = i
		}
	}
	return last
}

func (p *Pane) tabNamed(name string) *Pane {
	p.Open(Tab(slices.Index(tabNames[:], name)))
	p.version++
	return p
}

// cache is the watch cache of configmaps as it may be behind the recorded update.
func cache(j *v1alpha1.Journey) *v1alpha1.Cache {
	c := &v1alpha1.Cache{}
	c.Name = "configmaps"
	c.Status.Watchers = []v1alpha1.CacheWatcher{
		{ID: 3, Journey: j.Status.Deliveries[0].Watcher, Key: "/configmaps/default/", At: 9},
		{ID: 4, Journey: "rec-8", UserAgent: "informer", Key: "/configmaps/default/", At: 9, LabelSelector: "app=blue"},
		{ID: 5, Journey: "rec-9", UserAgent: "kubectl", Key: "/configmaps/other/", At: 9},
	}
	return c
}

// sourceOf is a file as it was once: the server's own changes.
func sourceOf(t testing.TB, file string) *source.File {
	t.Helper()
	text, err := os.ReadFile("testdata/" + strings.ReplaceAll(file, "/", ".") + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	f, err := source.Read(&v1alpha1.Source{Spec: v1alpha1.SourceSpec{File: file, Package: "store/etcd3", Text: string(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// views are what each tab shows of recorded requests. Those without texts are kept whole, for people to look at.
var views = []view{
	{name: "step", journey: "rec-7", step: "etcd.txn", tab: "Step", w: 52, h: 30},
	{name: "step-held", journey: "rec-15", step: "etcd.txn", tab: "Step", w: 52, h: 20, shows: []string{
		"[Step]", "about /registry/configmaps/default/held", "took still running", ">called by #27 etcd3.update",
		"|| held at its Start by breakpoint \"txn\"", "since 03:04:05; it can be told: next, into, out, continue, delay, fail",
	}},
	{name: "diff-update", journey: "rec-7", step: "etcd.txn", tab: "Diff", w: 52, h: 26},
	{name: "diff-update-all", journey: "rec-7", step: "etcd.txn", tab: "Diff", w: 86, h: 40, do: []func(*Pane){(*Pane).ToggleUnchanged}, shows: []string{
		"[Diff]", "5 changed: 3 by the request, 2 by the server", "- a: \"1\"", "+ app: red", "name: demo",
		"namespace: default",
	}},
	{name: "diff-create", journey: "rec-12", step: "etcd.txn", tab: "Diff", w: 52, h: 26, shows: []string{
		">whole request: as it was stored, to revision 13", "9 changed: 3 by the request, 6 by the server", "+ kind: CronTab",
		"#34 rest.create", "#37 store.prepare", "+ managedFields: … 11", "+ name: mine #24 handler.decode",
	}},
	{name: "diff-admitted", journey: "adm-1", step: "etcd.txn", tab: "Diff", w: 52, h: 30, shows: []string{
		"12 changed: 4 by the request, 8 by the server", "+ by: the policy #30 house-rules/everywhere",
		"+ by: webhook #38 scenes/label.label.exampl…",
	}},
	{name: "diff-conflict", journey: "rec-8", step: "etcd3.update", tab: "Diff", w: 52, h: 26, shows: []string{
		"whole request: as it was stored, to how far it came; nothing was written",
		"5 changed: 5 by the request, 0 by the server", ">+ a: \"1\" #20 handler.decode",
	}},
	{name: "diff-delete", journey: "rec-11", step: "etcd.txn", tab: "Diff", w: 52, h: 26, shows: []string{
		">the object was removed, at revision… #34 etcd.txn", "- data:", "- app: blue", "- managedFields: … 14 lines",
	}},
	{name: "diff-read", journey: "rec-3", step: "cacher.get", tab: "Diff", w: 52, h: 10, shows: []string{
		"the request changed no object: it only reads", "What its steps decided, behind the filters:",
		"> #15 handler.route taken:",
	}},
	{name: "diff-step", journey: "rec-7", step: "store.before-update", tab: "Diff", w: 52, h: 20, do: []func(*Pane){(*Pane).ShowDiff}, shows: []string{
		"this step alone; d shows the whole request", "2 fields changed", "data: … 2 lines the same",
		"#31 store.before-update",
	}},
	{name: "diff-no-object", journey: "rec-7", step: "etcd.txn", tab: "Diff", w: 52, h: 20, do: []func(*Pane){(*Pane).ShowDiff}, shows: []string{
		"this step changes no object", "These do, or show one:", "> #20 handler.decode", "#28 etcd3.decode",
	}},
	{name: "object-yaml", journey: "rec-7", step: "store.try-update", tab: "Object", w: 52, h: 20, shows: []string{
		"[Object]", "what came out of #29 store.try-update, as YAML", "a: \"2\"", "app: red",
	}},
	{name: "object-json-before", journey: "rec-7", step: "store.try-update", tab: "Object", w: 52, h: 20, do: []func(*Pane){(*Pane).NextForm, (*Pane).Turn}, shows: []string{
		"what went into #29 store.try-update, as JSON", "\"name\": \"demo\"", "\"resourceVersion\": \"6\"",
	}},
	{name: "object-before", journey: "rec-7", step: "etcd.txn", tab: "Object", w: 52, h: 12, shows: []string{
		">no object here; the last before it went into #33 etcd3.encode, as YAML", "app: red",
	}},
	{name: "etcd-create", journey: "rec-1", step: "etcd.txn", tab: "etcd", w: 86, h: 14, shows: []string{
		"IF mod(/registry/configmaps/default/demo) = 0", "IF mod(/registry/namespaces/default) = ", "/registry/namespaces/default still at revision",
	}},
	{name: "etcd-txn", journey: "rec-7", step: "etcd.txn", tab: "etcd", w: 52, h: 20, shows: []string{
		"[etcd]", "#35 etcd.txn KV.Txn", "IF mod(/registry/configmaps/",
		"THEN put /registry/configmaps/",
	}},
	{name: "etcd-retried", journey: "rec-16", step: "etcd3.update", tab: "etcd", w: 86, h: 30},
	{name: "etcd-key-revision", journey: "rec-3", step: "handler.encode", tab: "etcd", w: 52, h: 20, shows: []string{
		"this step did not ask etcd; the request did:", ">#25 etcd.key-revision KV.Get of one key's revision",
		"key /registry/configmaps/default/demo", "answer revision 6, modRevision 6",
	}},
	{name: "etcd-none", journey: "rec-2", step: "cacher.get", tab: "etcd", w: 52, h: 8, shows: []string{
		"the request did not ask etcd: all that it read was in memory",
	}},
	{name: "timing", journey: "rec-16", step: "etcd.txn", tab: "Timing", w: 86, h: 36},
	{name: "timing-narrow", journey: "rec-16", step: "etcd.txn", tab: "Timing", w: 52, h: 36, shows: []string{
		"[Timing]", "work", "the steps themselves", "round trips to etcd", "on purpose 5.00ms", "held, or delayed by a fault",
		"14 filters",
	}},
	{name: "watchers", journey: "rec-7", step: "etcd.txn", tab: "Watchers", w: 86, h: 30, shows: []string{
		"[Watchers]", ">wrote /registry/configmaps/default/demo at revision 7",
		"cacher.reflect the cache gets etcd's event at 7", "cacher.process-event", "cacher.dispatch",
		"MODIFIED at 7 to 0000aa-1 kx-admin",
	}},
	{name: "request", journey: "rec-17", step: "etcd.txn", tab: "Request", w: 52, h: 30, shows: []string{
		"[Request]", "503 Service Unavailable", "by fault \"fails\"", "PUT /api/v1/namespaces/default/configmaps/held",
		"answer 503, 184 bytes",
	}},
	{name: "source", journey: "rec-7", step: "etcd.txn", tab: "Source", w: 86, h: 30, shows: []string{
		"[Source]", "here store/etcd3/kv.go:110 store/etcd3.(*kv).commit", "upstream KV.Txn client/v3/kv.go v3.7",
		">=>110 ctx, step := trace.Start(ctx, trace.EtcdTxn, t.key) step 35",
	}},
	{name: "upstream", journey: "rec-7", step: "etcd.txn", tab: "Source", w: 86, h: 20, do: []func(*Pane){(*Pane).Turn}, shows: []string{
		"upstream go.etcd.io/etcd/client/v3@v3.7.0/kv.go:5 KV.Txn",
		"at https://github.com/etcd-io/etcd/blob/v3.7.0/client/v3/kv.go#L5", ">=>5 Txn(ctx context.Context) Txn",
	}},
	{name: "upstream-beside", journey: "rec-7", step: "etcd.txn", tab: "Source", w: 180, h: 20, do: []func(*Pane){(*Pane).Turn}},
	{name: "beside", journey: "rec-7", step: "etcd.txn", tab: "Diff", w: 140, h: 36, shows: []string{
		"[Diff]", ">whole request: as it was stored, to revision 7", "here store/etcd3/kv.go:110", "- a: \"1\"",
		">=>110 ctx, step := trace.Start",
	}},
}

// view is a tab with a step of a recorded request, and what it shows.
type view struct {
	name, journey, step, tab string
	w, h                     int
	do                       []func(*Pane)
	shows                    []string
}

func TestGolden(t *testing.T) {
	for _, test := range views {
		p := shown(t, test.journey, test.step, test.w, test.h).tabNamed(test.tab)
		for _, do := range test.do {
			do(p)
		}
		if file := p.WantsSource(); file != "" {
			p.GiveSource(sourceOf(t, file), "")
		}
		if of, ok := p.WantsTheirs(); ok {
			f, err := source.Read(&v1alpha1.Source{Spec: v1alpha1.SourceSpec{Text: "package clientv3\n\ntype KV interface {\n\t// Txn creates a transaction.\n\tTxn(ctx context.Context) Txn\n}\n"}})
			if err != nil {
				t.Fatal(err)
			}
			p.GiveTheirs(f, source.Place{File: "go.etcd.io/etcd/client/v3@v3.7.0/kv.go", Line: 5, Function: of.Upstream, Link: "https://github.com/etcd-io/etcd/blob/v3.7.0/" + of.UpstreamFile + "#L5"}, "")
		}
		if name := p.WantsCache(); name != "" {
			p.GiveCache(cache(p.journey), "")
		}
		if test.shows == nil {
			screentest.GoldenPane(t, test.name, p.Render(true))
		} else {
			screentest.Shows(t, test.name, p.Render(true), test.shows...)
		}
	}
}

// TestLinks follows the lines of Diff: from each field to the step that changed it, and to the revision.
func TestLinks(t *testing.T) {
	p := shown(t, "rec-7", "handler.update", 52, 30)
	p.ShowDiff()
	p.Render(true)
	if to, ok := p.Leads(); !ok || to.Target != (screen.ToKey{Key: "/registry/configmaps/default/demo", Revision: 7}) {
		t.Errorf("%+v, %v", to, ok)
	}
	var got []string
	for range 20 {
		p.Handle(keys.Down)
		p.Render(true)
		if to, ok := p.Leads(); ok && (len(got) == 0 || got[len(got)-1] != p.journey.Status.Steps[to.Step].ID) {
			got = append(got, p.journey.Status.Steps[to.Step].ID)
		}
	}
	if want := "handler.decode handler.managed-fields etcd.txn"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	p.Handle(keys.Top)
	p.Render(true)
	if to, ok := p.Leads(); !ok || to.Target == nil {
		t.Errorf("%+v, %v", to, ok)
	}
	if !p.Find("resourceversion") {
		t.Fatal("the field is not found")
	}
	if to, _ := p.Leads(); to.Step != stepOf(p.journey, "etcd.txn") {
		t.Errorf("%+v", to)
	}
	if p.Find("no such text") {
		t.Error("found what is not there")
	}
}

// TestMark shows what a write caused.
func TestMark(t *testing.T) {
	p := shown(t, "rec-7", "etcd.txn", 52, 20)
	p.ShowMark(p.journey, p.step, 1, "")
	if text := strings.Join(p.Render(false), "\n"); !strings.Contains(text, "caused by") || !strings.Contains(text, "revision 7") {
		t.Errorf("%s", text)
	}
	if place := p.place(); !strings.HasPrefix(place.File, "store/cacher/") {
		t.Errorf("%+v", place)
	}
}

// TestActsAs says whom the user acts as, and if the server did not let them.
func TestActsAs(t *testing.T) {
	p := shown(t, "rec-7", "etcd.txn", 52, 60).tabNamed("Request")
	p.journey.Spec.ImpersonatedUser = "bob"
	for _, test := range []struct{ failure, want string }{{"", "acts as bob"}, {"forbidden", "acts as bob: refused"}} {
		p.journey.Status.Steps[stepOf(p.journey, "filter.impersonation")].Error = test.failure
		p.version++
		text := strings.Join(strings.Fields(strings.Join(p.Render(false), "\n")), " ")
		if _, rest, _ := strings.Cut(text, "acts as"); !strings.HasPrefix("acts as"+rest, test.want+" ") {
			t.Errorf("%q: %s", test.failure, text)
		}
	}
}

// TestText is what is copied and edited.
func TestText(t *testing.T) {
	p := shown(t, "rec-7", "store.try-update", 52, 20)
	for tab, want := range map[string][2]string{
		"Object": {".yaml", "data:\n  a: \"2\"\n"}, "etcd": {".txt", "mod(/registry/configmaps/default/demo) = 6"}, "Diff": {".txt", "handler.decode"},
	} {
		text, suffix := p.tabNamed(tab).Text()
		if suffix != want[0] || !strings.Contains(text, want[1]) {
			t.Errorf("%s: %s\n%s", tab, suffix, text)
		}
	}
}

// hostile is a journey whose steps and objects mean no good.
func hostile(t testing.TB) *v1alpha1.Journey {
	j := screentest.Journey(t, "rec-16")
	data, err := json.Marshal(escapetest.Any())
	if err != nil {
		t.Fatal(err)
	}
	any := string(data)
	for i := range j.Status.Steps {
		s := &j.Status.Steps[i]
		s.Parent += int32(i%3) * 7
		s.TookNanos *= -3
		s.Attributes = append(s.Attributes, v1alpha1.Attribute{Name: strings.Repeat("n", 400), Value: strings.Repeat("日本", 300)})
		switch i % 4 {
		case 0:
			s.Before = &runtime.RawExtension{Raw: []byte(`{"a":` + any + `,"日本":{"` + strings.Repeat("x", 500) + `":[1,{"\t":null}]}}`)}
		case 1:
			s.After = &runtime.RawExtension{Raw: []byte("{" + escapetest.Any())}
		}
	}
	j.Status.Interventions = append(j.Status.Interventions, v1alpha1.Intervention{Step: -7}, v1alpha1.Intervention{Step: 1000})
	j.Status.Held = []v1alpha1.HeldStep{{Step: -1}, {Step: 99}}
	return j
}

func TestSizes(t *testing.T) {
	for _, j := range []*v1alpha1.Journey{hostile(t), {}} {
		p := New(theme.Plain)
		for i := range tabNames {
			for _, step := range []int{-1, 27, 500} {
				p.Show(j, step, "kubectl get configmap "+strings.Repeat("long", 100))
				p.Open(Tab(i))
				c := &v1alpha1.Cache{}
				c.Name = "configmaps"
				c.Status.Watchers = []v1alpha1.CacheWatcher{{Key: "/" + escapetest.Any(), UserAgent: escapetest.Any()}}
				p.GiveCache(c, "")
				p.GiveSource(nil, "no source")
				screentest.PaneSizes(t, tabNames[i], func(w, h int) []string {
					p.SetSize(w, h)
					p.Handle(keys.Down)
					p.Leads()
					return p.Render(w%2 == 0)
				})
				p.Text()
			}
		}
		p.Message("", "nothing")
		screentest.PaneSizes(t, "a message", func(w, h int) []string { p.SetSize(w, h); p.Handle(keys.Up); return p.Render(true) })
	}
}

func BenchmarkRender(b *testing.B) {
	for _, name := range tabNames {
		b.Run(name, func(b *testing.B) {
			p := shown(b, "rec-12", "store.before-create", 86, 39).tabNamed(name)
			for b.Loop() {
				p.version++
				p.Render(true)
			}
		})
	}
}

// TestSourceOfAnotherRequest marks the lines that the shown request ran, and not those of the one before, whose step
// ran the same line.
func TestSourceOfAnotherRequest(t *testing.T) {
	step := func(line int32) v1alpha1.Step {
		return v1alpha1.Step{ID: "etcd.txn", Layer: "etcd", Parent: -1, File: "store/etcd3/kv.go", Line: line}
	}
	request := func(name string, lines ...int32) *v1alpha1.Journey {
		j := &v1alpha1.Journey{}
		j.Name = name
		for _, line := range lines {
			j.Status.Steps = append(j.Status.Steps, step(line))
		}
		return j
	}
	p := New(theme.Plain).tabNamed("Source")
	p.SetSize(100, 40)
	file := sourceOf(t, "store/etcd3/kv.go")
	for _, test := range []struct {
		journey *v1alpha1.Journey
		at      int
		want    []int // the steps at the lines that ran
	}{
		{request("a", 105, 106, 110), 2, []int{0, 1, 2}},
		{request("b", 110), 0, []int{0}},
		{request("b", 110, 112), 0, []int{0, 1}}, // it went on
	} {
		p.Show(test.journey, test.at, "")
		p.GiveSource(file, "")
		var got []int
		for p.Handle(keys.Top); ; {
			if to, ok := p.Leads(); ok {
				got = append(got, to.Step)
			}
			at := p.source.Cursor()
			if p.Handle(keys.Down); p.source.Cursor() == at {
				break
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("of %s the steps %v have lines, want %v", test.journey.Name, got, test.want)
		}
	}
}
