package session

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/api"
)

// Session follows one server. Any goroutine may use it. mu guards stop and serializes Follow.
type Session struct {
	client source
	inbox  *inbox
	signal chan struct{}
	caught func() // deferred in every goroutine
	life   context.Context
	end    context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex
	stop context.CancelFunc // of the follower that runs
}

// New makes a session with the server of config, which signals changes on [Session.Changed]. Filters can ask for
// reasons, which also have the sentences that an older server lacks. most limits the changes that wait for a drain.
// Every goroutine of the session defers caught, which may recover.
func New(config *rest.Config, reasons trace.Catalogue, most int, caught func()) (*Session, error) {
	a, err := api.New(config)
	if err != nil {
		return nil, err
	}
	signal := make(chan struct{}, 1)
	s := NewSession(a, reasons, most, func() {
		select {
		case signal <- struct{}{}:
		default:
		}
	}, caught)
	s.signal = signal
	return s, nil
}

// NewSession makes a session with a server. changed is called, by any goroutine, whenever there is something to drain.
func NewSession(a *api.Client, reasons trace.Catalogue, most int, changed, caught func()) *Session {
	return newSession(&client{a, reasons}, newInbox(most, changed), caught)
}

// NewArchive makes a session from saved journeys instead of a server.
func NewArchive(all []*v1alpha1.Journey, reasons trace.Catalogue, changed, caught func()) *Session {
	return newSession(newSaved(all, reasons), newInbox(len(all), changed), caught)
}

func newSession(client source, inbox *inbox, caught func()) *Session {
	s := &Session{client: client, inbox: inbox, caught: caught, stop: func() {}}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// source provides journeys.
type source interface {
	get(ctx context.Context, id string) (*v1alpha1.Journey, error)
	list(ctx context.Context, filter string) (rows []*v1alpha1.Journey, rv string, err error)
	// watch calls event for each change after rv until there are no more. It returns the last revision.
	watch(ctx context.Context, filter, rv string, event func(watch.EventType, *v1alpha1.Journey)) (string, error)
	// nameList lists the names that filters can use in a field.
	nameList(field string) []string
	// phase is the phase of a source without errors.
	phase() Phase
	close()
}

// Changed signals that there is something to drain, if the session was made with [New].
func (s *Session) Changed() <-chan struct{} { return s.signal }

// Close stops the follower and waits for it.
func (s *Session) Close() {
	s.end()
	s.wg.Wait()
	s.client.close()
}

// Names lists the names that filters can use in a field: those of this version of kx, and those in saved journeys.
func (s *Session) Names(field string) []string { return s.client.nameList(field) }

// Drain takes the changes since the last Drain.
func (s *Session) Drain() Batch { return s.inbox.drain() }

// Get fetches one whole journey.
func (s *Session) Get(ctx context.Context, id string) (*v1alpha1.Journey, error) {
	return s.client.get(ctx, id)
}

// Rows returns the server's journeys that match filter, without their steps, the oldest first.
func (s *Session) Rows(ctx context.Context, filter string) ([]*v1alpha1.Journey, error) {
	rows, _, err := s.client.list(ctx, filter)
	return rows, err
}

// List returns the IDs of the server's journeys that match filter, the oldest first.
func (s *Session) List(ctx context.Context, filter string) ([]string, error) {
	rows, err := s.Rows(ctx, filter)
	ids := make([]string, len(rows))
	for i, j := range rows {
		ids[i] = j.Name
	}
	return ids, err
}

// Related returns the remembered requests, with their steps, that changed the object over which j was refused.
func (s *Session) Related(ctx context.Context, j *v1alpha1.Journey) ([]*v1alpha1.Journey, error) {
	wanted := refusal.RelatedFilter(j)
	if wanted == "" {
		return nil, nil
	}
	rows, err := s.Rows(ctx, wanted)
	if err != nil {
		return nil, err
	}
	var related []*v1alpha1.Journey
	for _, row := range refusal.RelatedRequests(j, slices.Values(rows)) {
		whole, err := s.Get(ctx, row.Name)
		switch {
		case errors.Is(err, ErrForgotten): // the server has forgotten it meanwhile
		case err != nil:
			return nil, err
		default:
			related = append(related, whole)
		}
	}
	return related, nil
}

// Follow follows the journeys that match filter, in place of the ones before.
func (s *Session) Follow(filter string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	ctx, stop := context.WithCancel(s.life)
	s.stop = stop
	f := &follower{Session: s, filter: filter, generation: s.inbox.begin()}
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		defer s.caught()
		f.run(ctx)
	}()
}

// The first and the longest pause of the follower before it tries again.
const (
	retryFirst = 250 * time.Millisecond
	retryMost  = 5 * time.Second
)

// follower is the work of one goroutine: list, watch, and again.
type follower struct {
	*Session
	filter     string
	generation uint64
	listed     bool
}

func (f *follower) run(ctx context.Context) {
	f.leave(func(b *Batch) { b.State = State{Phase: Connecting} })
	wait := retryFirst
	rv := ""
	for ctx.Err() == nil {
		var err error
		if rv == "" {
			rv, err = f.list(ctx)
		}
		if err == nil {
			wait = retryFirst
			rv, err = f.client.watch(ctx, f.filter, rv, f.event)
		}
		if ctx.Err() != nil {
			return
		}
		switch {
		case err == nil: // the watch came to its end: go on from there
		case errors.Is(err, errGone):
			rv = ""
		case errors.Is(err, errNoKX) && !f.listed:
			f.leave(func(b *Batch) { b.State = State{Phase: Foreign, Reason: err.Error()} })
			return
		default:
			// A restarted server has other journeys and revisions.
			rv = ""
			f.leave(func(b *Batch) { b.State = State{Phase: Retrying, Reason: err.Error()} })
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		if err == nil {
			continue
		}
		wait = min(2*wait, retryMost)
	}
}

func (f *follower) leave(change func(*Batch)) { f.inbox.leave(f.generation, change) }

func (f *follower) list(ctx context.Context) (string, error) {
	rows, rv, err := f.client.list(ctx, f.filter)
	if err != nil {
		return "", err
	}
	present := make(map[string]bool, len(rows))
	for _, j := range rows {
		present[j.Name] = true
	}
	first := !f.listed
	f.listed = true
	f.leave(func(b *Batch) {
		if first {
			*b = Batch{Reset: true, filtered: f.filter != ""}
		}
		for _, j := range rows {
			b.changes = append(b.changes, change{journey: j})
		}
		b.present = present
		b.State = State{Phase: f.client.phase()}
	})
	return rv, nil
}

// leftOutAnnotation, on a bookmark, counts the new journeys that the server skipped because there were too many.
const leftOutAnnotation = "kx.dev/left-out"

func (f *follower) event(t watch.EventType, j *v1alpha1.Journey) {
	if t == watch.Bookmark {
		if n, err := strconv.ParseUint(j.Annotations[leftOutAnnotation], 10, 64); err == nil {
			f.leave(func(b *Batch) { b.LeftOut += n })
		}
		return
	}
	Clean(j)
	f.leave(func(b *Batch) {
		b.changes = append(b.changes, change{journey: j, gone: t == watch.Deleted})
		if b.present != nil && t != watch.Deleted {
			b.present[j.Name] = true
		}
	})
}
