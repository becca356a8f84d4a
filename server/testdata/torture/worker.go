//go:build linux

package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/testdata/torture/history"
)

const (
	// requestPatience is how long a client waits for an answer.
	requestPatience = 5 * time.Second
	// keysAtOnce is how many objects of a kind are fought for at a time, keyLife for how many operations.
	keysAtOnce = 4
	keyLife    = 150
)

var (
	namespaces = []string{"torture-a", "torture-b"}
	colors     = []string{"red", "green", "blue"}
)

// worker is a client that writes and reads single objects, and lists. Its registers are of one way of asking, on each
// server and of each kind that it can.
type worker struct {
	id        int
	random    *rand.Rand
	registers []register
	round     *round
	writes    int
}

// run works until ctx ends. What is under way then is finished.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		r := w.registers[w.random.IntN(len(w.registers))]
		var failed bool
		switch w.random.IntN(12) {
		case 0:
			failed = w.list(r)
		case 1:
			failed = w.read(r)
		default:
			failed = w.operate(r)
		}
		pause := time.Duration(w.random.IntN(10)) * time.Millisecond
		if failed {
			pause += 50 * time.Millisecond
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// operate does one operation and notes it; failed is whether it had no answer.
func (w *worker) operate(r register) (failed bool) {
	ns, name := w.round.target(r.of(), w.random)
	o := history.Operation{Client: w.id, Key: r.of().key(ns, name), Verb: w.verb(), Call: w.round.now()}
	if o.Verb != history.Get && o.Verb != history.Delete {
		w.writes++
		o.Value = fmt.Sprintf("%s-%d-%d", colors[w.random.IntN(len(colors))], w.id, w.writes)
	}
	w.round.demand(&o, r.of(), w.random)
	ctx, cancel := context.WithTimeout(context.Background(), requestPatience)
	defer cancel()
	seen, err := perform(ctx, r, &o, ns, name)
	o.Return = w.round.now()
	known := true
	if o.Outcome, known = outcome(err); !known {
		w.round.fail("a request that is in order was refused: %s: %v", &o, err)
	}
	if o.Outcome == history.OK && o.Verb != history.Delete {
		if o.Verb != history.Get && (seen.Value != o.Value || seen.Key != o.Key) {
			w.round.fail("a write was answered with another object: %s: %+v", &o, seen)
		}
		o.Value, o.Revision = seen.Value, seen.Revision
	}
	w.round.note(o)
	return o.Outcome == history.Unknown || o.Outcome == history.Refused
}

func (w *worker) verb() history.Verb {
	verbs := []history.Verb{
		history.Get, history.Get, history.Get, history.Create, history.Create, history.Update, history.Update, history.Update,
		history.Patch, history.Apply, history.Delete,
	}
	return verbs[w.random.IntN(len(verbs))]
}

// perform sends the request of an operation.
func perform(ctx context.Context, r register, o *history.Operation, ns, name string) (seen history.Object, err error) {
	version := ""
	if o.Expect != 0 {
		version = strconv.FormatInt(o.Expect, 10)
	}
	var obj runtime.Object
	switch o.Verb {
	case history.Get:
		obj, err = r.get(ctx, ns, name, "")
	case history.Create:
		obj, err = r.create(ctx, ns, name, o.Value)
	case history.Update:
		obj, err = r.update(ctx, ns, name, o.Value, version)
	case history.Patch:
		obj, err = r.patch(ctx, ns, name, o.Value)
	case history.Apply:
		obj, err = r.apply(ctx, ns, name, o.Value)
	default:
		return seen, r.remove(ctx, ns, name, version)
	}
	if err != nil {
		return seen, err
	}
	return r.of().seen(obj)
}

// read asks for an object as it was at some revision or later, and notes what it got.
func (w *worker) read(r register) (failed bool) {
	ns, name := w.round.target(r.of(), w.random)
	read := history.Read{Client: w.id}
	version := "0"
	if w.random.IntN(2) == 0 {
		read.Least = max(w.round.begin, w.round.known.Load()-w.random.Int64N(20))
		version = strconv.FormatInt(read.Least, 10)
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestPatience)
	defer cancel()
	obj, err := r.get(ctx, ns, name, version)
	switch o, known := outcome(err); {
	case !known:
		w.round.fail("a read that is in order was refused: %s: %v", r.of().key(ns, name), err)
	case o == history.OK:
		if read.Object, err = r.of().seen(obj); err != nil {
			w.round.fail("an object can't be read: %v", err)
		}
	case o != history.NotFound:
		return true
	}
	read.Key = r.of().key(ns, name)
	w.round.noteRead(read)
	return false
}

// list asks for many objects in one of the ways there are, and notes what it got.
func (w *worker) list(r register) (failed bool) {
	ns, scope := w.round.scope(r.of(), w.random)
	l := history.List{Client: w.id, Scope: scope, Call: w.round.now()}
	options := metav1.ListOptions{}
	if scope.Color != "" {
		options.LabelSelector = "color=" + scope.Color
	}
	known := w.round.known.Load()
	switch w.random.IntN(5) {
	case 0:
		options.ResourceVersion = "0"
	case 1:
		l.Least = max(1, known-int64(w.random.IntN(100)))
		options.ResourceVersion, options.ResourceVersionMatch = strconv.FormatInt(l.Least, 10), metav1.ResourceVersionMatchNotOlderThan
	case 2:
		l.Least, l.Exact = max(w.round.begin, known-int64(w.random.IntN(100))), true
		options.ResourceVersion, options.ResourceVersionMatch = strconv.FormatInt(l.Least, 10), metav1.ResourceVersionMatchExact
	default:
		l.Latest = true
	}
	if w.random.IntN(2) == 0 && options.ResourceVersion != "0" {
		options.Limit = int64(1 + w.random.IntN(5))
	}
	err := w.pages(r, ns, options, &l)
	l.Return = w.round.now()
	if err == nil {
		w.round.noteList(l)
		return false
	}
	if _, known := outcome(err); !known {
		w.round.fail("a list that is in order was refused: %s: %v", &l, err)
	}
	return true
}

func (w *worker) pages(r register, ns string, options metav1.ListOptions, l *history.List) error {
	for n := 0; ; n++ {
		ctx, cancel := context.WithTimeout(context.Background(), requestPatience)
		list, err := r.list(ctx, ns, options)
		cancel()
		if err != nil {
			return err
		}
		p, err := readPage(r.of(), list)
		if err != nil {
			return err
		}
		if n > 0 && p.revision != l.Revision {
			w.round.fail("page %d is of revision %d, the first of %d: %s", n, p.revision, l.Revision, l)
		}
		l.Revision = p.revision
		l.Items = append(l.Items, p.items...)
		if p.continues == "" {
			return nil
		}
		options.Continue, options.ResourceVersion, options.ResourceVersionMatch = p.continues, "", ""
	}
}
