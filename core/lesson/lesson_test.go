package lesson

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/trace"
)

// template is the lesson that kx learn new writes: it has most kinds of blocks.
const template = "../../docs/learn/template.md"

func TestTemplate(t *testing.T) {
	data, err := os.ReadFile(template)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Parse("template.md", data, trace.Names)
	if err != nil {
		t.Fatal(err)
	}
	tasks := l.Tasks()
	if len(tasks) != 1 || tasks[0].ID != "store" || len(tasks[0].Hints) != 1 || len(tasks[0].Expects) != 1 || tasks[0].Solution.Script == tasks[0].Starter.Script {
		t.Errorf("tasks: %+v", tasks)
	}
	var kinds []string
	last := 0
	for _, p := range l.Parts {
		if p.At() <= last {
			t.Errorf("%T is on line %d, after line %d", p, p.At(), last)
		}
		last = p.At()
		switch p := p.(type) {
		case Predict:
			kinds = append(kinds, "predict")
			if p.Answer != 2 || len(p.Answers) != 3 || p.Question != "How far does a dry run come?" {
				t.Errorf("%+v", p)
			}
		case Run:
			kinds = append(kinds, "run")
			if line := strings.Split(string(data), "\n")[p.At()-1]; line != "```run id=dry" {
				t.Errorf("the run is on line %d, where %q stands", p.At(), line)
			}
		case Show:
			kinds = append(kinds, "show")
			if p.Step != "dryrun.create" || !strings.HasPrefix(p.Say, "Nothing stands") {
				t.Errorf("%+v", p)
			}
		case Reading:
			kinds = append(kinds, "read")
		}
	}
	if want := []string{"predict", "run", "show", "read"}; !slices.Equal(kinds, want) {
		t.Errorf("%v, want %v", kinds, want)
	}
}

// good is a lesson whose parts can be replaced by bad ones.
const good = `---
id: a
title: A lesson
minutes: 5
---
Text.

` + "````" + `
` + "```run id=text" + `
in four backticks is text
` + "```" + `
` + "````" + `

` + "```sh" + `
so is another language
` + "```" + `

` + "```run id=one bg limit=60s" + `
kx get configmaps
` + "```" + `

` + "```hold of=one" + `
step:etcd.txn name:x
` + "```" + `

` + "```fault of=one" + `
effect: Delay
delay: 2s
filter: step:etcd.get
` + "```" + `

` + "```release of=one" + `
` + "```" + `

` + "```expect of=one within=20s" + `
2+ verb:get (etcd.get -> etcd.txn)
` + "```" + `
`

func TestConditions(t *testing.T) {
	text := strings.Replace(good, "2+ verb:get (etcd.get -> etcd.txn)\n", `2+ verb:get
0 step(etcd.txn why:"a b")
get configmap/x {.data.a} {.metadata.annotations.b\.c} = 1 2
get -n kube-system deployments.apps/web {.spec.replicas} = 3
gone -n other configmap/x
prints "a \"b\""
hides "c"
`, 1)
	text = strings.Replace(text, "limit=60s", "limit=60s needs=go,tools", 1)
	l, err := Parse("x.md", []byte(text), trace.Names)
	if err != nil {
		t.Fatal(err)
	}
	if l.Run("text") != nil {
		t.Error("a block of four backticks was read")
	}
	if needs := l.NeedsOf("one"); !slices.Equal(needs, []string{"go", "tools"}) || !slices.Equal(l.AllNeeds(), []string{"go", "tools"}) {
		t.Errorf("it needs %q, and the lesson %q", needs, l.AllNeeds())
	}
	holds, faults := l.Setup("one")
	if len(holds) != 1 || len(faults) != 1 || faults[0].Spec.Delay.Seconds() != 2 {
		t.Errorf("%+v, %+v", holds, faults)
	}
	e := l.Parts[len(l.Parts)-1].(Expect)
	if e.Within.Seconds() != 20 || len(e.Conditions) != 7 {
		t.Fatalf("%+v", e)
	}
	for i, want := range []Condition{
		{Kind: Requests, Count: 2, AtLeast: true, Filter: "verb:get"},
		{Kind: Requests, Filter: `step(etcd.txn why:"a b")`},
		{Kind: Object, Object: "configmap/x", Paths: []string{"{.data.a}", `{.metadata.annotations.b\.c}`}, Values: []string{"1", "2"}},
		{Kind: Object, Namespace: "kube-system", Object: "deployments.apps/web", Paths: []string{"{.spec.replicas}"}, Values: []string{"3"}},
		{Kind: Gone, Namespace: "other", Object: "configmap/x"},
		{Kind: Prints, Phrase: `a "b"`},
		{Kind: Hides, Phrase: "c"},
	} {
		got := e.Conditions[i]
		want.Line, want.Text = got.Line, got.Text
		if strings.Split(text, "\n")[got.At()-1] != got.Text {
			t.Errorf("%q is not on line %d", got.Text, got.At())
		}
		if got.Kind != want.Kind || got.Count != want.Count || got.AtLeast != want.AtLeast || got.Filter != want.Filter || got.Object != want.Object ||
			got.Namespace != want.Namespace || got.Phrase != want.Phrase || !slices.Equal(got.Paths, want.Paths) || !slices.Equal(got.Values, want.Values) {
			t.Errorf("%s: %+v, want %+v", got.Text, got, want)
		}
	}
}

// TestPlaces: each part at which a learner can stand has a name of its own, which another edition of the lesson finds.
func TestPlaces(t *testing.T) {
	l, err := Parse("x.md", []byte("---\nid: x\ntitle: X\nminutes: 1\n---\n```run id=a\ntrue\n```\n```predict id=a answer=1\nWhat?\n1. This\n2. That\n```\n"+
		"```expect of=a\n0 verb:get\n```\n```expect of=a\n0 verb:list\n```\n"), trace.Names)
	if err != nil {
		t.Fatal(err)
	}
	edited := *l
	edited.Parts = slices.Insert(slices.Clone(l.Parts), 1, Part(Text{Markdown: "more"}))
	want := []string{"run a 1", "predict a 1", "expect a 1", "expect a 2", "end"}
	for i, place := range want {
		if got := l.Place(i); got != place {
			t.Errorf("part %d is %q, want %q", i, got, place)
		}
		if at, ok := edited.Index(place); !ok || i > 0 && at != i+1 {
			t.Errorf("%q is part %d of the edited lesson: %t", place, at, ok)
		}
	}
	if _, ok := l.Index("run b 1"); ok {
		t.Error("a place of another lesson was found")
	}
}

// TestErrors breaks a good lesson: the error names the line, and what was expected there.
func TestErrors(t *testing.T) {
	task := "```starter id=task\nkx get ns\n```\n"
	solution := "```solution id=task\nkx get ns\n```\n"
	expects := "```expect of=task\n1 verb:get\n```\n"
	for _, c := range []struct{ name, old, new, want string }{
		{"no description", "---\nid: a", "id: a", "x.md:1: expected a line of ---"},
		{"an open description", "minutes: 5\n---", "minutes: 5", "x.md:1: the description has no end"},
		{"no id", "id: a", "id: A b", "x.md:2: expected id: NAME"},
		{"no title", "title: A lesson", "title:", "x.md:3: expected title"},
		{"an unknown track", "minutes: 5", "minutes: 5\ntracks: [sleep]", "x.md:5: tracks sleep: expected use, articles, extend"},
		{"too many ports", "minutes: 5", "minutes: 5\nports: 21", "x.md:5: expected ports: 1 to 20"},
		{"a learned paragraph", "minutes: 5", "minutes: 5\nlearned: \"a\\nb\"", "x.md:5: expected learned: a sentence on a line"},
		{"too long", "minutes: 5", "minutes: 500", "x.md:4: expected minutes"},
		{"an unknown field", "minutes: 5", "minutes: 5\nminute: 6", "x.md:5: the description can't be read: field minute not found"},
		{"not a number", "minutes: 5", "minutes: five", "x.md:4: the description can't be read"},
		{"no YAML", "minutes: 5", "minutes: [", "the description can't be read"},
		{"an unknown need", "minutes: 5", "minutes: 5\nneeds: [rust]", "x.md:5: needs rust: expected go"},
		{"no flag", "minutes: 5", "minutes: 5\nserve: [x]", "x.md:5: serve: expected a flag"},
		{"a flag that writes a file", "minutes: 5", "minutes: 5\nserve: [--watch-cache=false, --audit-log-path=/tmp/x]",
			"x.md:5: serve: a lesson may not set --audit-log-path; it may set --encryption-provider-config, --etcd-servers, "},
		{"a flag that is misspelled", "minutes: 5", "minutes: 5\nserve: [--watchcache=false]",
			"x.md:5: serve: a lesson may not set --watchcache; the nearest flag that it may set is --watch-cache"},
		{"no flag at all", "minutes: 5", "minutes: 5\nserve: [--]", "x.md:5: serve: a lesson may not set --;"},
		{"a flag of a mutation", "minutes: 5", "minutes: 5\nmutation: {of: one, serve: [--kubeconfig-out=/tmp/x]}",
			"x.md:5: mutation: serve: a lesson may not set --kubeconfig-out;"},
		{"half a mutation", "minutes: 5", "minutes: 5\nmutation: {of: one}", "x.md:5: mutation: expected of, and either"},
		{"a mutation of nothing", "minutes: 5", "minutes: 5\nmutation: {of: two, serve: [--watch-cache]}", "x.md:5: mutation: there is no run two"},
		{"a mutation by what is no fault", "minutes: 5", "minutes: 5\nmutation: {of: one, fault: {effect: Fail, filter: '('}}", "expected a filter"},
		{"an open block", "```release of=one\n```", "```release of=one", "x.md:32: release: expected an empty block"},
		{"an open block at the end", "\n```\n", "\n", ""},
		{"no id of a run", "run id=one", "run", "x.md:18: run: expected id=NAME"},
		{"an unknown option", "bg limit", "gb limit", "x.md:18: run: there is no option gb; expected id, bg, fails, limit"},
		{"an unknown need of a run", "limit=60s", "needs=go,rust", "x.md:18: run: needs rust: expected go"},
		{"an option twice", "bg limit", "bg bg limit", "x.md:18: run: bg is said twice"},
		{"a flag with a value", "bg limit", "bg=1 limit", "x.md:18: run: bg takes no value"},
		{"no duration", "limit=60s", "limit=long", "x.md:18: run: expected limit=DURATION"},
		{"an empty run", "kx get configmaps\n", "\n", "x.md:18: run: the block is empty"},
		{"no filter", "step:etcd.txn name:x", "step:(", "x.md:23: hold: expected a filter: filter, column"},
		{"no breakpoint", "step:etcd.txn name:x\n", "", "x.md:22: hold: expected a filter"},
		{"a hold of nothing", "hold of=one", "hold of=two", "x.md:22: there is no run two"},
		{"a hold in the foreground", " bg ", " ", "x.md:22: hold: the run one would wait for ever"},
		{"no effect", "effect: Delay\n", "", "x.md:26: fault: expected an effect"},
		{"an unknown field of a fault", "delay: 2s", "wait: 2s", `x.md:26: fault: expected the fields of a fault`},
		{"a full release", "```release of=one\n", "```release of=one\nx\n", "x.md:32: release: expected an empty block"},
		{"no number", "2+ verb", "many verb", "x.md:36: expect: expected a number and a filter"},
		{"an unknown step", "step:etcd.txn name:x", "step:etcd.txxn name:x", `x.md:23: hold: expected a filter: filter, column 6: there is no step "etcd.txxn"; near it: etcd.txn`},
		{"an unknown step in an expectation", "2+ verb:get (etcd.get -> etcd.txn)", "0 step:etcd.txxn", `x.md:36: expect: expected a filter: filter, column 6: there is no step "etcd.txxn"`},
		{"no filter in an expectation", "2+ verb:get (etcd.get -> etcd.txn)", "1 verb:get etcd.get ->", "x.md:36: expect: expected a filter"},
		{"no expectation", "2+ verb:get (etcd.get -> etcd.txn)\n", "", "x.md:35: expect: expected a line such as"},
		{"no values", "2+ verb:get (etcd.get -> etcd.txn)", "get configmap/x {.a} {.b} = 1", "x.md:36: expect: 2 paths, and 1 values"},
		{"no path", "2+ verb:get (etcd.get -> etcd.txn)", "get configmap/x", "x.md:36: expect: expected get RESOURCE/NAME {.PATH} = VALUE"},
		{"no object", "2+ verb:get (etcd.get -> etcd.txn)", "gone x", "x.md:36: expect: expected gone RESOURCE/NAME"},
		{"no quotes", "2+ verb:get (etcd.get -> etcd.txn)", "prints x", "x.md:36: expect: expected a text in double quotes"},
		{"an expectation of nothing", "expect of=one", "expect of=two", "x.md:35: there is no run two"},
		{"a question that was not asked", "within=20s", "reveal=q", "x.md:35: expect: there is no question q before it"},
		{"a run twice", "```hold", "```run id=one\nx\n```\n```hold", "x.md:22: there are two runs or tasks one"},
		{"no answers", "```hold", "```predict id=q answer=1\nWhy?\n```\n```hold", "x.md:22: predict: expected 2 to 9 answers"},
		{"a wrong number", "```hold", "```predict id=q answer=1\nWhy?\n1. a\n3. b\n```\n```hold", "x.md:25: predict: expected answer 2, and got 3"},
		{"a line among the answers", "```hold", "```predict id=q answer=1\nWhy?\n1. a\nb\n```\n```hold", "x.md:25: predict: expected answer 2: a number"},
		{"no such answer", "```hold", "```predict id=q answer=3\nWhy?\n1. a\n2. b\n```\n```hold", "x.md:22: predict: answer=3, and there are 2"},
		{"no question", "```hold", "```predict id=q answer=1\n1. a\n2. b\n```\n```hold", "x.md:22: predict: expected a question"},
		{"a stop in the foreground", "```hold", "```run id=two\nx\n```\n```stop of=two\n```\n```hold", "x.md:25: stop: two does not run in the background"},
		{"a show before its run", "```run id=one", "```show of=one\nopen verb:get\n```\n```run id=one", "x.md:18: one comes after it"},
		{"an unknown tab", "```hold", "```show of=one\nopen verb:get\ntab Nothing\n```\n```hold", "x.md:24: show: tab: expected one of Step, Diff"},
		{"a step of nothing", "```hold", "```show of=one\nscreen Cache\nstep etcd.txn\n```\n```hold", "x.md:22: show: step and tab are of a request"},
		{"no flag of the server", "```hold", "```server\nwatch-cache\n```\n```hold", "x.md:23: server: expected a flag"},
		{"a flag that the server may not have", "```hold", "```server\n--watch-cache=false\n--data-dir=/tmp\n```\n```hold",
			"x.md:24: server: a lesson may not set --data-dir; it may set --"},
		{"no second hint", "```hold", "```hint 2\nx\n```\n```hold", "x.md:22: hint: expected hint 1"},
		{"a hint without a number", "```hold", "```hint\nx\n```\n```hold", "x.md:22: hint: expected a number"},
		{"a hint for nothing", "```hold", "```hint 1\nx\n```\n```hold", "x.md:22: hint: expected a starter"},
		{"no solution", "```hold", task + expects + "```hold", "x.md:22: starter: the task task has no solution"},
		{"no expectation of a task", "```hold", task + solution + "```hold", "x.md:22: starter: the task task expects nothing"},
		{"no starter", "```hold", solution + "```hold", "x.md:22: solution: there is no starter task"},
	} {
		text := good
		if c.want == "" { // the last fence is left out
			text, c.want = strings.TrimSuffix(good, "```\n"), "x.md:35: the block has no end"
		} else if text = strings.Replace(good, c.old, c.new, 1); text == good {
			t.Errorf("%s: nothing was replaced", c.name)
		}
		if _, err := Parse("x.md", []byte(text), trace.Names); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := Parse("x.md", []byte(strings.ReplaceAll(good, "\n", "\r\n")), trace.Names); err != nil {
		t.Errorf("with the line ends of Windows: %v", err)
	}
	if _, err := Parse("x.md", make([]byte, maxSize+1), trace.Names); err == nil {
		t.Error("a file of more than a megabyte was read")
	}
}

// FuzzParse: a file is a lesson, or an error that names one of its lines.
func FuzzParse(f *testing.F) {
	data, err := os.ReadFile(template)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add(good)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse("x.md", []byte(text), trace.Names)
		if err != nil {
			e, ok := err.(*Error)
			if lines := strings.Count(text, "\n") + 1; !ok || e.Line < 1 || e.Line > lines {
				t.Fatalf("%v, in a text of %d lines", err, lines)
			}
			return
		}
		for _, task := range l.Tasks() {
			if len(task.Expects) == 0 {
				t.Fatal("a task expects nothing")
			}
		}
	})
}
