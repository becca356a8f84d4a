package exchange

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/api"
)

// Limits of the kept part of an answer. The rest is only counted.
const (
	bodyBytesMost   = 4 << 20
	eventsMost      = 1000
	eventsBytesMost = 8 << 20
	lineBytesMost   = 8 << 20
)

// Event is one event of a watch.
type Event struct {
	At                    time.Time
	Type                  string
	Kind, Namespace, Name string
	ResourceVersion       string
	Raw                   []byte
}

// Answer is the answer so far.
type Answer struct {
	Started time.Time
	// HeldAt is the step at which the request was held; empty if it was not.
	HeldAt  string
	Journey string

	// Code is 0 as long as there is no answer.
	Code   int
	Header http.Header
	// First and Took are the durations until the headers, and until the end.
	First, Took time.Duration

	Body  []byte
	Bytes int64 // of the whole body, including the dropped part

	Watch         bool
	Events        []Event // the latest
	EventsDropped int

	Ended bool
	Err   error // why there is no answer, or why it has no end
}

// Exchange is one request under way. mu guards answer and kept.
type Exchange struct {
	changed func()
	now     func() time.Time
	stop    context.CancelFunc
	ended   chan struct{}

	mu     sync.Mutex
	answer Answer
	kept   int // bytes of the events
}

// Start sends a request in the background. changed is called after each change of the answer.
func Start(ctx context.Context, c *api.Client, h request.HTTP, o Options, now func() time.Time, changed func()) *Exchange {
	ctx, stop := context.WithCancel(ctx)
	e := &Exchange{changed: changed, now: now, stop: stop, ended: make(chan struct{}), answer: Answer{Started: now()}}
	o.OnHeld = func(journey, step string) {
		e.set(func(a *Answer) { a.Journey, a.HeldAt = journey, step })
	}
	go func() {
		defer close(e.ended)
		defer stop()
		if o.Guard != nil {
			defer o.Guard()
		}
		err := e.run(ctx, c, h, o)
		e.set(func(a *Answer) { a.Ended, a.Err, a.Took = true, err, now().Sub(a.Started) })
	}()
	return e
}

// Stop cancels the request: a watch ends, a held request goes on without a client.
func (e *Exchange) Stop() { e.stop() }

// Wait waits for the end of the exchange.
func (e *Exchange) Wait() { <-e.ended }

// Answer returns a copy of the answer so far.
func (e *Exchange) Answer() Answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.answer
}

func (e *Exchange) set(f func(*Answer)) {
	e.mu.Lock()
	f(&e.answer)
	e.mu.Unlock()
	e.changed()
}

func (e *Exchange) run(ctx context.Context, c *api.Client, h request.HTTP, o Options) error {
	res, done, err := Do(ctx, c, h, o)
	if err != nil {
		return stopError(ctx, err)
	}
	defer done()
	defer res.Body.Close()
	watch := isWatch(h) && res.StatusCode == http.StatusOK
	e.set(func(a *Answer) {
		a.Code, a.Header, a.Watch, a.First = res.StatusCode, res.Header, watch, e.now().Sub(a.Started)
		if id := res.Header.Get(JourneyHeader); id != "" {
			a.Journey = id
		}
	})
	if watch {
		return stopError(ctx, e.follow(res.Body))
	}
	return stopError(ctx, e.take(res.Body))
}

// errStopped means that the user stopped the request.
var errStopped = errors.New("stopped")

func stopError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errStopped
	}
	return err
}

func isWatch(h request.HTTP) bool {
	w := h.Query.Get("watch")
	return h.Method == http.MethodGet && (w == "true" || w == "1")
}

// take reads a body to its end.
func (e *Exchange) take(body io.Reader) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			e.set(func(a *Answer) {
				a.Bytes += int64(n)
				room := bodyBytesMost - len(a.Body)
				a.Body = append(a.Body, buffer[:min(n, room)]...)
			})
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
	}
}

// follow reads the events of a watch, a line each.
func (e *Exchange) follow(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), lineBytesMost)
	for lines.Scan() {
		if raw := bytes.TrimSpace(lines.Bytes()); len(raw) > 0 {
			e.event(bytes.Clone(raw))
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the watch: %w", err)
	}
	return nil
}

func (e *Exchange) event(raw []byte) {
	var in struct {
		Type   string
		Object struct {
			Kind     string
			Message  string
			Metadata struct{ Namespace, Name, ResourceVersion string }
		}
	}
	_ = json.Unmarshal(raw, &in) // fields that do not parse stay empty; the raw event is kept
	m := in.Object.Metadata
	ev := Event{At: e.now(), Type: in.Type, Kind: in.Object.Kind, Namespace: m.Namespace, Name: m.Name,
		ResourceVersion: m.ResourceVersion, Raw: raw}
	if in.Type == "ERROR" && ev.Name == "" {
		ev.Name = in.Object.Message
	}
	e.set(func(a *Answer) {
		a.Bytes += int64(len(raw)) + 1
		a.Events = append(a.Events, ev)
		e.kept += len(raw)
		for len(a.Events) > 1 && (len(a.Events) > eventsMost || e.kept > eventsBytesMost) {
			e.kept -= len(a.Events[0].Raw)
			a.Events = a.Events[1:]
			a.EventsDropped++
		}
	})
}
