package server_test

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server"
)

// TestWays holds the tables of docs/get.md against requests that it sends. A row is a function that ran, in the order of
// the rows. Every step, every file and every climb back up has its row, or a reason to have none.
func TestWays(t *testing.T) {
	document, err := os.ReadFile("../docs/get.md")
	must(t, err)
	reasons := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9.-]+)` \\| (.+) \\|$").FindAllStringSubmatch(string(document), -1) {
		reasons[row[1]] = row[2]
	}
	p := newPerformer(t, &datadriven.TestData{})
	_, err = p.define(cronTabs)
	must(t, err)
	p.filled()
	for _, way := range []struct {
		section string
		travel  func(*testing.T, *performer) []call
	}{
		{"A create", createBuiltIn},
		{"A create of a custom resource", createCustom},
		{"A GET", get},
		{"A watch event", watchEvent},
	} {
		t.Run(way.section, func(t *testing.T) {
			section := sectionOf(t, string(document), way.section)
			w := &walk{t: t, rows: rowsOf(section), reasons: reasons}
			w.follow(way.travel(t, p))
			if files := filesIn(section); files != len(w.files) {
				t.Errorf("the document says %d files, the request went through %d: %v", files, len(w.files), w.files)
			}
		})
	}
}

const cronTabs = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},
 "spec":{"group":"stable.example.com","scope":"Namespaced","names":{"plural":"crontabs","singular":"crontab","kind":"CronTab"},
  "versions":[{"name":"v1","served":true,"storage":true,
   "schema":{"openAPIV3Schema":{"type":"object","properties":{
    "spec":{"type":"object","x-kubernetes-validations":[{"rule":"self.replicas <= 10"}],
     "properties":{"replicas":{"type":"integer","default":1}}}}}}}]}}`

func get(t *testing.T, p *performer) []call {
	p.ask(t, "POST /api/v1/namespaces/default/configmaps\n\n"+`{"metadata":{"name":"read"}}`)
	w := watchSteps(t, p.server, trace.Tracepoint, "agent:witnessed steps>0", trace.Effect{})
	a := p.ask(t, "GET /api/v1/namespaces/default/configmaps/read\nUser-Agent: witnessed")
	return w.calls(t, a.journey.Record().Steps)
}

func createBuiltIn(t *testing.T, p *performer) []call {
	return create(t, p, "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"written"}}`)
}

func createCustom(t *testing.T, p *performer) []call {
	path, object := "/apis/stable.example.com/v1/namespaces/default/crontabs", `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"%"},"spec":{}}`
	p.ask(t, "POST "+path+"\n\n"+strings.ReplaceAll(object, "%", "first")) // which makes what serves the definition
	p.filled()
	return create(t, p, path, strings.ReplaceAll(object, "%", "second"))
}

// create returns the way of a create, down and back up, and behind it that of its event into the cache.
func create(t *testing.T, p *performer, path, object string) []call {
	w := watchSteps(t, p.server, trace.Tracepoint, "agent:witnessed steps>0", trace.Effect{})
	record := p.ask(t, "POST "+path+"\nUser-Agent: witnessed\n\n"+object).journey.Record()
	return append(w.calls(t, record.Steps), marks(t, &record)...)
}

// watchEvent returns the way of an event, from etcd's watch to a client.
func watchEvent(t *testing.T, p *performer) []call {
	reflector := watchSteps(t, p.server, trace.Fault, "step:cacher.process-event name:event", trace.Effect{Delay: 1})
	watcher := watchSteps(t, p.server, trace.Tracepoint, "agent:witnessed steps>0", trace.Effect{})
	w, err := p.open("GET /api/v1/namespaces/default/configmaps?watch=true&resourceVersion="+strconv.FormatInt(p.start, 10)+
		"&fieldSelector=metadata.name%3Devent\nUser-Agent: witnessed", &datadriven.TestData{})
	must(t, err)
	defer w.body.Close()
	opened := len(watcher.calls(t, w.journey.Record().Steps))
	record := p.ask(t, "POST /api/v1/namespaces/default/configmaps\n\n"+`{"metadata":{"name":"event"}}`).journey.Record()
	var event watched
	must(t, json.NewDecoder(w.body).Decode(&event))
	way := reflector.calls(t, []trace.StepRecord{{ID: steps.CacherReflect, Parent: -1}})
	way[len(way)-1].step = "" // the marks are in the journey of the write
	way = append(way, marks(t, &record)...)
	return append(way, watcher.calls(t, w.journey.Record().Steps)[opened:]...)
}

// ask sends a request that must succeed.
func (p *performer) ask(t *testing.T, text string) *answer {
	t.Helper()
	a, err := p.send(text, &datadriven.TestData{})
	must(t, err)
	if a.code >= 300 {
		t.Fatalf("%s: %d", text, a.code)
	}
	return a
}

// marks are the functions that made a write part of the cache.
func marks(t *testing.T, record *trace.Record) []call {
	slices.SortStableFunc(record.Marks, func(a, b trace.MarkRecord) int { return int(a.After - b.After) })
	var calls []call
	for _, m := range record.Marks {
		c, ok := callOf(trace.SiteOfStep(m.ID).File, moduleName+trace.SiteOfStep(m.ID).Function)
		if !ok {
			t.Fatalf("%s is made in %v", m.ID, trace.SiteOfStep(m.ID))
		}
		c.step = m.ID.String()
		calls = append(calls, c)
	}
	return calls
}

// row is a line of a table in the document.
type row struct {
	file, function string
	climbs         bool
}

func sectionOf(t *testing.T, document, title string) string {
	t.Helper()
	_, section, ok := strings.Cut(document, "\n## "+title+"\n")
	if !ok {
		t.Fatalf("the document has no section %q", title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

func rowsOf(section string) (rows []row) {
	for _, m := range regexp.MustCompile("(?m)^\\| \\d+( ↑)? \\| (\\S+) \\| `(\\w+)` \\|").FindAllStringSubmatch(section, -1) {
		rows = append(rows, row{file: m[2], function: m[3], climbs: m[1] != ""})
	}
	return rows
}

// filesIn is how many files the section says that there are.
func filesIn(section string) int {
	m := regexp.MustCompile(`(\d+) files`).FindStringSubmatch(section)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// walk follows a request along the rows of a table.
type walk struct {
	t       *testing.T
	rows    []row
	reasons map[string]string
	files   []string
}

func (w *walk) follow(calls []call) {
	next, leftOut := 0, -1
	for _, c := range calls {
		if leftOut >= 0 && c.depth > leftOut {
			continue
		}
		leftOut = -1
		if w.reasons[c.step] != "" {
			leftOut = c.depth
			continue
		}
		if !slices.Contains(w.files, c.file) {
			w.files = append(w.files, c.file)
		}
		switch {
		case next < len(w.rows) && w.rows[next] == row{c.file, c.function, c.climbs}:
			next++
		case next > 0 && c.step != "" && w.rows[next-1] == row{c.file, c.function, c.climbs}:
			// the same step once more
		case c.step != "" || c.climbs:
			w.t.Errorf("%s (step %q, climbs: %v) ran after row %d, and has no row there", c, c.step, c.climbs, next)
		case !slices.ContainsFunc(w.rows, func(r row) bool { return r.file == c.file }):
			w.t.Errorf("%s ran, and its file has no row", c)
		}
	}
	if next < len(w.rows) {
		w.t.Errorf("row %d, %v, did not run after the one before it", next+1, w.rows[next])
		for _, c := range calls {
			w.t.Logf("%s %s", c, c.step)
		}
	}
}

// call is a function that a request entered.
type call struct {
	file, function string
	// step is the step that the function takes, "" if it takes none. depth is how many steps called it, or the step that it
	// leads to.
	step  string
	depth int
	// climbs says that a function of the store called it, and it is one of the server.
	climbs bool
}

func (c call) String() string { return c.file + " " + c.function }

// witness takes the stack at each step that its rule matches, on the goroutine that takes the step.
type witness struct {
	mu     sync.Mutex
	stacks [][]runtime.Frame // the outermost function first
}

// watchSteps starts a witness of the steps that a filter matches. Its rule does nothing but look.
func watchSteps(t *testing.T, r *running, kind trace.RuleKind, text string, effect trace.Effect) *witness {
	t.Helper()
	w := &witness{}
	f, err := filter.Parse(text, server.Reasons().Names)
	must(t, err)
	rule := &trace.Rule{
		Name: "witness", Kind: kind, Filter: f, Effect: effect, Skip: math.MaxInt64, Probability: 1, Changed: w.take,
	}
	must(t, r.Journeys.Control().Add(rule))
	t.Cleanup(func() { r.Journeys.Control().Remove(rule) })
	return w
}

func (w *witness) take() {
	var pcs [256]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	var stack []runtime.Frame
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		stack = append(stack, f)
	}
	slices.Reverse(stack)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stacks = append(w.stacks, stack)
}

const moduleName = "github.com/kx-apiserver/kx/"

// sourceRoot is the directory of the checkout, as the compiler wrote it.
var sourceRoot = sync.OnceValue(func() string {
	_, file, _, _ := runtime.Caller(0)
	return strings.TrimSuffix(file, "server/ways_test.go")
})

// closures end the names of functions that other functions made.
var closures = regexp.MustCompile(`(\.func\d+|\.\d+|\.gowrap\d+|-fm|\[\.\.\.\])+$`)

// callOf is a frame as the documents name it. Frames of other modules, of the trace and of tests are not ok.
func callOf(file, function string) (call, bool) {
	name, ours := strings.CutPrefix(function, moduleName)
	file = strings.TrimPrefix(file, sourceRoot())
	// What faults do is on the way of an event only because the witness is one.
	if !ours || file == "store/cacher/disturb.go" || strings.HasPrefix(file, "core/trace/") || strings.HasSuffix(file, "_test.go") || !strings.HasSuffix(file, ".go") || strings.HasPrefix(file, "<") {
		return call{}, false
	}
	name = closures.ReplaceAllString(name, "")
	name = name[strings.LastIndexByte(name, '.')+1:]
	if strings.HasPrefix(file, "server/filter/") {
		file, name = "server/filter", "Chain" // all filters are one
	}
	return call{file: file, function: name}, true
}

// calls are the functions that were entered between the stacks, in that order, each once for each time.
func (w *witness) calls(t *testing.T, walk []trace.StepRecord) []call {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.stacks) != len(walk) {
		t.Fatalf("%d stacks were taken, the journey has %d steps", len(w.stacks), len(walk))
	}
	var entered []call
	var before []runtime.Frame
	for i, stack := range w.stacks {
		depth := 0
		for parent := walk[i].Parent; parent >= 0; parent = walk[parent].Parent {
			depth++
		}
		shared := common(before, stack)
		var caller call
		for at, f := range stack {
			c, ok := callOf(f.File, f.Function)
			if !ok {
				continue
			}
			c.depth = depth
			c.climbs = strings.HasPrefix(caller.file, "store/") && strings.HasPrefix(c.file, "server/")
			again := c.file == caller.file && c.function == caller.function // a closure of its caller
			caller = c
			if at >= shared && !again {
				entered = append(entered, c)
			}
		}
		if id := walk[i].ID; !strings.HasPrefix(trace.SiteOfStep(id).File, "server/filter/") {
			entered[len(entered)-1].step = id.String()
		}
		before = stack
	}
	return entered
}

// common is how many functions of a stack had been entered when the one before it was taken.
func common(before, now []runtime.Frame) int {
	for i := range now {
		if i == len(now)-1 || i == len(before) || before[i].Function != now[i].Function {
			return i
		}
		if before[i].Line != now[i].Line {
			return i + 1 // it has gone on to call something else
		}
	}
	return len(now)
}
