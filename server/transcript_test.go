package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/internal/hooktest"
	"github.com/kx-apiserver/kx/server/internal/wiretest"
)

const transcripts = "testdata/transcripts"

// TestTranscripts sends the requests of testdata/transcripts to whole servers, one a file, and compares what every layer
// did. -rewrite accepts what they do.
//
//	server [encrypted] [uncached] [rival] [runtime-config=<version>=true] [watch-cache-sizes=(<resource>#<size>, ...)]
//	    starts another server than the usual one: with encrypted, secrets are encrypted in etcd; with uncached, there is no
//	    watch cache; with rival, etcd is another one, in which races can be lost
//	define
//	    makes the CustomResourceDefinition that is the input, and waits until it is served. In it, {webhook} is how it names
//	    a conversion webhook, which adds the label converted.
//	webhooks scenes=(<scene>, ...)
//	    configures admission webhooks, which do what package hooktest says of the scenes
//	aggregate
//	    leaves far.example.com/v1 to another server, which has no objects
//	settle
//	    waits until the server knows the admission policies that there are
//	setup
//	    sends the request that is the input. What it does is no matter.
//	request [as=alice] [filters] [objects]
//	    sends the request and shows its journey: with filters, what each of them did; with objects, what each step
//	    changed. alice is not an administrator.
//	race [objects]
//	    sends two requests, which a line "meanwhile" separates: the second when the first has read and is about to write
//	install <resource>.<version>.<group>
//	    shows how the resource came to be served
//	controller <verb> <name>
//	    shows what a controller did with the object of that name, when it has
//	watch events=<n> [after=<n>]
//	    sends the watch, and the requests behind it, which lines "meanwhile" separate, when so many events have come. It
//	    goes on until all events have come.
//
// A request is written as HTTP writes it: a line with method and path, headers, an empty line, the body. In it, {r+1}
// is the resourceVersion that the first write to the server made, {continue} where the last list went on, and {uid} the UID of the
// object that the last setup wrote.
//
// A journey is a tree: each step is below the one that called it, with the function that takes it, as compiled into this
// binary, and what it is about. Behind bars stand what went in and came out, the fields that it changed, why it went so,
// and its error. What differs from run to run is named instead: r+1, <uid>, <time>, <id>.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, transcripts, func(t *testing.T, path string) {
		var p *performer
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "server" {
				p = newPerformer(t, d)
				return ""
			}
			if p == nil {
				p = newPerformer(t, &datadriven.TestData{})
			}
			out, err := p.perform(d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return out
		})
	})
}

// TestEveryStepIsInATranscript: what no transcript shows, nobody has looked at.
func TestEveryStepIsInATranscript(t *testing.T) {
	files, err := filepath.Glob(transcripts + "/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			shown[name] = true
		}
	}
	for _, id := range steps.All() {
		// Without priority and fairness there is another filter in its place, which the tests of the filters show.
		if !shown[id.String()] && id != steps.FilterInFlight {
			t.Errorf("no transcript shows %s", id)
		}
	}
}

func (p *performer) perform(d *datadriven.TestData) (string, error) {
	p.drawing = drawing{filters: d.HasArg("filters"), start: p.start}
	switch d.Cmd {
	case "define":
		return p.define(d.Input)
	case "webhooks":
		var scenes []string
		for _, arg := range d.CmdArgs {
			scenes = append(scenes, arg.Vals...)
		}
		hooktest.New(p.t).Configure(p.t, &wiretest.Client{URL: p.server.URL, Admin: p.admin, Anyone: p.admin}, scenes...)
		return "", nil
	case "aggregate":
		p.server.register(p.t, emptyServer(p.t))
		p.server.available(p.t, "Passed")
		// The server begins to follow services then, which takes their cache to the present.
		_, err := p.server.admin(p.t).CoreV1().Services("").List(within(p.t), metav1.ListOptions{})
		return "", err
	case "settle":
		settle(p.t, &wiretest.Client{URL: p.server.URL, Admin: p.admin, Anyone: p.admin})
		return "", nil
	case "setup":
		a, err := p.send(d.Input, d)
		if err != nil {
			return "", err
		}
		p.uid = a.uid
		return strconv.Itoa(a.code), nil
	case "request":
		p.filled()
		a, err := p.send(d.Input, d)
		if err != nil {
			return "", err
		}
		return p.show(a), nil
	case "race":
		return p.race(d)
	case "watch":
		return p.watch(d)
	case "install":
		return p.install(d.CmdArgs[0].Key)
	case "controller":
		return p.controller(d.CmdArgs[0].Key, d.CmdArgs[1].Key)
	}
	return "", fmt.Errorf("unknown command %s", d.Cmd)
}

// filled waits until no cache has yet to be filled for the first time: a request that finds one goes to etcd.
func (p *performer) filled() {
	until(p.t, "the caches are filled", func() bool {
		return len(p.server.caches(p.t, "?fieldSelector=status.state="+string(v1alpha1.CacheUninitialized))) == 0
	})
}

// and are the requests of an input that holds several.
func and(input string) []string { return strings.Split(input, "\nmeanwhile\n") }

func (p *performer) race(d *datadriven.TestData) (string, error) {
	requests := and(d.Input)
	if p.rival == nil || len(requests) != 2 {
		return "", fmt.Errorf("a race needs a server with a rival, and two requests: there are %d", len(requests))
	}
	var second *answer
	var secondErr error
	p.rival.beforeNextWrite(func() { second, secondErr = p.send(requests[1], &datadriven.TestData{}) })
	first, err := p.send(requests[0], d)
	if err != nil {
		return "", err
	}
	if second == nil {
		return "", fmt.Errorf("the first request has lost no race: %v", secondErr)
	}
	return p.show(first) + "meanwhile " + p.show(second), nil
}

func (p *performer) watch(d *datadriven.TestData) (string, error) {
	var want, after int
	d.ScanArgs(p.t, "events", &want)
	if d.HasArg("after") {
		d.ScanArgs(p.t, "after", &after)
	}
	requests := and(d.Input)
	w, err := p.open(requests[0], d)
	if err != nil {
		return "", err
	}
	defer w.body.Close()
	var out strings.Builder
	var writes []*answer
	events := json.NewDecoder(w.body)
	for i := range want {
		if i == after {
			for _, text := range requests[1:] {
				a, err := p.send(text, &datadriven.TestData{})
				if err != nil {
					return "", err
				}
				writes = append(writes, a)
			}
		}
		var e watched
		if err := events.Decode(&e); err != nil {
			return "", fmt.Errorf("%d events came, then %w", i, err)
		}
		if e.Type == "" {
			return "", fmt.Errorf("the answer, %d, is no watch", w.code)
		}
		fmt.Fprintf(&out, "%s %s\n", e.Type, p.describe(&e))
	}
	if err := w.end(); err != nil {
		return "", err
	}
	for _, a := range writes { // all their events have come
		out.WriteString(p.caused(a, w))
	}
	return out.String() + p.show(w), nil
}

// watched is an event as a client sees it.
type watched struct {
	Type   string
	Object struct {
		Kind, Message string
		Metadata      struct {
			Name, ResourceVersion string
			Annotations           map[string]string
		}
	}
}

func (p *performer) describe(e *watched) string {
	o := e.Object
	text := o.Kind + " " + o.Metadata.Name + " at " + p.revisionText(o.Metadata.ResourceVersion)
	if o.Message != "" {
		text = o.Kind + " " + p.mask(o.Message)
	}
	for name, value := range o.Metadata.Annotations {
		text += ", " + name + "=" + value
	}
	return text
}

// caused is what the journey of a write knows of the events that it caused: the marks of the cache, and who got them.
func (p *performer) caused(write, watch *answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %d\n", write.method, write.path, write.code)
	record := write.journey.Record()
	for _, m := range record.Marks {
		function := trace.SiteOfStep(m.ID).Function
		fmt.Fprintf(&b, "  %s  %s  %s\n", m.ID, function[strings.LastIndexByte(function, '/')+1:], p.revision(m.Revision))
	}
	for _, d := range record.Deliveries {
		to := "another watch"
		if d.Watcher == watch.journey.ID() {
			to = "this watch"
		}
		fmt.Fprintf(&b, "  caused %s at %s, delivered to %s, of %s with %s\n", d.Type, p.revision(d.Revision), to, d.User, d.UserAgent)
	}
	return b.String()
}
