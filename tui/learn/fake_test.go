package learn

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/play"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// fake is a play in which a test decides what comes of the parts. What it shows is tested here; what a real one does, in cmd/kx.
type fake struct {
	lesson   *lesson.Lesson
	journeys []*v1alpha1.Journey
	ran      []string // scripts and lines
	wrong    bool     // expectations do not hold
	err      error    // what Do ends with
	silent   bool     // nothing is printed
	long     string   // what runs print instead of what they usually do
	lacks    string   // what the machine does not have
	during   func()   // called while something is done
	output   func(id, text string)
}

func (f *fake) Do(_ context.Context, i int) (play.Outcome, error) {
	if f.during != nil {
		f.during()
	}
	switch part := f.lesson.Parts[i].(type) {
	case lesson.Run:
		if f.lacks != "" {
			return play.Outcome{Lacks: f.lacks}, nil
		}
		f.ran = append(f.ran, part.Script)
		out := "configmap/demo created\nError from server (Conflict): the object has been modified\n"
		if f.silent || f.long != "" {
			out = f.long
		}
		if part.Background {
			return play.Outcome{Running: true, Held: []string{f.conflict().Name}}, f.err
		}
		return play.Outcome{Output: out, Took: 812 * time.Millisecond}, f.err
	case lesson.Expect:
		results, _ := f.Judge(context.Background(), part)
		return play.Outcome{Results: results}, f.err
	}
	return play.Outcome{}, f.err
}

// conflict is the recorded update that was refused.
func (f *fake) conflict() *v1alpha1.Journey {
	for _, j := range f.journeys {
		if j.Status.Code == 409 {
			return j
		}
	}
	return nil
}

func (f *fake) Judge(_ context.Context, e lesson.Expect) ([]play.Result, error) {
	var all []play.Result
	wrong := f.wrong || e.Of == "yours" && !strings.Contains(f.ran[len(f.ran)-1], "resourceVersion")
	for i, c := range e.Conditions {
		r := play.Result{Condition: c, OK: true, Saw: "1 request", Found: 1, Journeys: []v1alpha1.Journey{*f.conflict()}}
		if wrong && i == 0 {
			r.OK, r.Found, r.Among = false, 0, 3
		}
		if c.Count == 0 {
			r.Saw, r.Journeys = "no request", nil
		}
		all = append(all, r)
	}
	return all, nil
}

func (f *fake) Attempt(_ context.Context, _, script string) (play.Outcome, error) {
	if f.during != nil {
		f.during()
	}
	f.ran = append(f.ran, script)
	return play.Outcome{Output: "configmap/demo patched\n", Took: time.Second}, nil
}

func (f *fake) Shell(_ context.Context, line string) (play.Outcome, error) {
	f.ran = append(f.ran, line)
	if line == "false" {
		return play.Outcome{Exit: 1}, nil
	}
	return play.Outcome{Output: "NAME   DATA   AGE\ndemo   1      3s\n"}, nil
}

func (f *fake) Find(_ context.Context, _, filter string) (string, error) {
	if strings.Contains(filter, "nowhere") {
		return "", errors.New("no request of put is " + filter)
	}
	return f.conflict().Name, nil
}

// began is the screen with a lesson from a file that nobody has begun. change may change what it is told.
func began(t *testing.T, file string, change func(*Options)) (*screentest.Host, *Screen, *fake) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lesson.Parse(file, text, trace.Names)
	if err != nil {
		t.Fatal(err)
	}
	server := tuitest.New(t)
	f := &fake{lesson: l, journeys: tuitest.Recorded(t, "../testdata/journeys.json")}
	server.Put(f.journeys...)
	h := screentest.New(t, server)
	o := Options{Lesson: l, Ways: []Way{{ID: "watch", Title: "What a watch sees"}}, Open: func(_ context.Context, output func(id, text string)) (Play, error) {
		f.output = output
		return f, nil
	}}
	if change != nil {
		change(&o)
	}
	s := New(h, o)
	s.judging = 0
	h.Attach(s)
	return h, s, f
}
