//go:build linux

package torture

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/server/testdata/torture/history"
)

// watcher is a client that watches, and goes on where it was after each end of a watch, on any server.
type watcher struct {
	id        int
	random    *rand.Rand
	registers []register // of one kind
	round     *round
	ns        string
	scope     history.Scope
	// at is the revision up to which it has seen all.
	at atomic.Int64
}

// run watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		r := w.registers[w.random.IntN(len(w.registers))]
		if w.at.Load() == 0 {
			w.list(ctx, r)
		} else if err := w.follow(ctx, r); err != nil {
			if _, known := outcome(err); !known {
				w.round.fail("a watch that is in order was refused: %v", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(w.random.IntN(50)) * time.Millisecond):
		}
	}
}

func (w *watcher) options() metav1.ListOptions {
	if w.scope.Color == "" {
		return metav1.ListOptions{}
	}
	return metav1.ListOptions{LabelSelector: "color=" + w.scope.Color}
}

// list begins with the state, as informers do.
func (w *watcher) list(ctx context.Context, r register) {
	l := history.List{Client: w.id, Scope: w.scope, Call: w.round.now()}
	options := w.options()
	if w.random.IntN(2) == 0 {
		options.ResourceVersion = "0"
	} else {
		l.Latest = true
	}
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	list, err := r.list(ctx, w.ns, options)
	if err != nil {
		return
	}
	p, err := readPage(r.of(), list)
	if err != nil {
		w.round.fail("a list can't be read: %v", err)
		return
	}
	l.Items, l.Revision, l.Return = p.items, p.revision, w.round.now()
	w.round.noteList(l)
	w.at.Store(p.revision)
}

// follow watches once.
func (w *watcher) follow(ctx context.Context, r register) error {
	s := history.Stream{Watcher: w.id, Scope: w.scope, From: w.at.Load()}
	options := w.options()
	seconds := int64(1 + w.random.IntN(20))
	options.AllowWatchBookmarks, options.TimeoutSeconds = true, &seconds
	options.ResourceVersion = strconv.FormatInt(s.From, 10)
	// A half-open connection tells nothing: no watch lives longer than it asked for.
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+requestPatience)
	defer cancel()
	events, err := r.watch(ctx, w.ns, options)
	if err != nil {
		if expired(err) {
			w.expire(s)
			return nil
		}
		return err
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		if e.Type == watch.Error {
			if expired(statusOf(e.Object)) {
				w.expire(s)
				return nil
			}
			break
		}
		o, err := r.of().seen(e.Object)
		if err != nil {
			w.round.fail("an event can't be read: %v", err)
			break
		}
		if e.Type == watch.Bookmark {
			o = history.Object{Revision: o.Revision}
		}
		s.Events = append(s.Events, history.Event{Type: history.EventType(e.Type), Object: o})
		w.at.Store(o.Revision)
	}
	w.round.noteStream(s)
	return nil
}

// expire notes that the past is gone, and begins anew.
func (w *watcher) expire(s history.Stream) {
	s.Expired = true
	w.round.noteStream(s)
	w.at.Store(0)
}
