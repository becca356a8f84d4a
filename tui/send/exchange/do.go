package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/api"
)

// Headers that connect a request with its journey.
const (
	JourneyHeader = "Kx-Journey"
	auditHeader   = "Audit-Id"
	levelHeader   = "Kx-Trace"
)

const (
	// leaseSeconds is the time for which a request stays held after its sending process died.
	leaseSeconds = 15
	// tidyWait limits the time for deleting the breakpoint.
	tidyWait = 5 * time.Second
)

// Options configure an exchange.
type Options struct {
	// Held holds the request at its first step, or at the step HeldAt after Skip passes. OnHeld is called then, on
	// another goroutine.
	Held   bool
	HeldAt string
	Skip   int
	OnHeld func(journey, step string)
	// Made is called with the name of the breakpoint that holds the request. It may be nil.
	Made func(breakpoint string)
	// Guard is deferred in each new goroutine. It may be nil.
	Guard func()
	// Plain omits the header that requests a journey with its objects.
	Plain bool
}

// Do sends a request. The caller closes the answer's body, and then calls done, which deletes the breakpoint. Without
// an error done is never nil.
func Do(ctx context.Context, c *api.Client, h request.HTTP, o Options) (res *http.Response, done func(), err error) {
	header := make(http.Header, len(h.Header)+2)
	for name, values := range h.Header {
		header[name] = slices.Clone(values)
	}
	if !o.Plain && header.Get(levelHeader) == "" {
		header.Set(levelHeader, "objects")
	}
	done = func() {}
	if o.Held {
		id := uuid.NewString()
		header.Set(auditHeader, id)
		if done, err = hold(ctx, c, id, o); err != nil {
			return nil, nil, err
		}
	}
	res, err = c.Send(ctx, api.Request{Method: h.Method, Path: h.Path, Query: h.Query, Header: header, Body: h.Body, Asked: true})
	if err != nil {
		done()
		return nil, nil, err
	}
	return res, done, nil
}

// hold makes the breakpoint for an audit ID, and watches for the request that it holds.
func hold(ctx context.Context, c *api.Client, id string, o Options) (done func(), err error) {
	name := "send-" + id[:8]
	const collection = api.KX + "/breakpoints"
	breakpoint := v1alpha1.Breakpoint{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Breakpoint"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.BreakpointSpec{Filter: filter.Compose("audit", id, "step", o.HeldAt), Count: 1,
			Skip: int64(o.Skip), LeaseSeconds: leaseSeconds},
	}
	if err := c.Create(ctx, collection, &breakpoint, nil); err != nil {
		return nil, fmt.Errorf("it was not sent, since it could not be held: %w", reason(err))
	}
	if o.Made != nil {
		o.Made(name)
	}
	watching, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	for _, f := range []func(){
		func() { lease(watching, c, collection, name) },
		func() { lookFor(watching, c, id, o.OnHeld) },
	} {
		ended.Go(func() {
			if o.Guard != nil {
				defer o.Guard()
			}
			f()
		})
	}
	return func() {
		stop()
		ended.Wait()
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyWait)
		defer cancel()
		_ = c.Delete(tidy, collection+"/"+name) // if not, its lease ends
	}, nil
}

// lease watches the breakpoint, which renews its lease.
func lease(ctx context.Context, c *api.Client, collection, name string) {
	for ; ctx.Err() == nil; pause(ctx) {
		query := url.Values{"fieldSelector": {"metadata.name=" + name}}
		if err := c.Watch(ctx, collection, query, func(api.Event) error { return nil }); err != nil {
			return
		}
	}
}

// reason strips the description of the request from an error, if the server gave a reason.
func reason(err error) error {
	var answered *api.Error
	if errors.As(err, &answered) {
		if _, why, ok := strings.Cut(answered.Status.Message, " is forbidden: "); ok {
			return errors.New(why)
		}
	}
	return err
}

// again is the pause after a watch that ended without an error.
const again = 100 * time.Millisecond

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(again):
	}
}

// errFound ends a watch that has seen its event.
var errFound = errors.New("found")

// lookFor calls told with the journey of an audit ID, once it is held.
func lookFor(ctx context.Context, c *api.Client, id string, told func(journey, step string)) {
	for ; ctx.Err() == nil; pause(ctx) {
		err := c.Watch(ctx, api.KX+"/journeys", url.Values{"filter": {"audit:" + id}}, func(e api.Event) error {
			var j v1alpha1.Journey
			if e.Type == "BOOKMARK" || json.Unmarshal(e.Object, &j) != nil || j.Status.Phase != v1alpha1.JourneyHeld {
				return nil
			}
			step := ""
			if len(j.Status.Held) > 0 {
				step = j.Status.Held[0].ID
			}
			if told != nil {
				told(j.Name, step)
			}
			return errFound
		})
		if err != nil {
			return
		}
	}
}
