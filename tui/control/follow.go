package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/draw"
)

// The first and the longest pause of a follower before it tries again.
const (
	retryFirst = 250 * time.Millisecond
	retryMost  = 5 * time.Second
)

// objectsMost limits the known objects of one resource. A server has at most 64 of each.
const objectsMost = 1000

// feed follows one resource: it lists, watches, and begins again.
type feed[T any] struct {
	control *Control
	path    string
	query   url.Values
	// listed gets all objects, with the value of Control.made when the list was requested. event gets the changes.
	listed func(items []T, made uint64)
	event  func(kind string, item T)
	// connected is called, if it is set, after each list.
	connected func(context.Context)
}

func (f feed[T]) run(ctx context.Context) {
	wait, known := retryFirst, false
	for ctx.Err() == nil {
		version, err := f.list(ctx)
		known = known || err == nil
		for err == nil && ctx.Err() == nil {
			wait = retryFirst
			version, err = f.watch(ctx, version)
		}
		if ctx.Err() != nil {
			return
		}
		if api.Code(err) == http.StatusGone {
			continue // the list must be read again
		}
		f.control.failed(f.path, err)
		if api.Code(err) == http.StatusNotFound && !known {
			return // it never had this
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(2*wait, retryMost)
	}
}

func (f feed[T]) list(ctx context.Context) (version string, err error) {
	c := f.control
	c.mu.Lock()
	made := c.made
	c.mu.Unlock()
	var list struct {
		Metadata metav1.ListMeta `json:"metadata"`
		Items    []T             `json:"items"`
	}
	if err := c.api.Get(ctx, f.path, f.query, &list); err != nil {
		return "", err
	}
	c.mu.Lock()
	delete(c.problem, f.path)
	f.listed(list.Items[:min(len(list.Items), objectsMost)], made)
	c.tellChanged()
	c.mu.Unlock()
	if f.connected != nil {
		f.connected(ctx)
	}
	return list.Metadata.ResourceVersion, nil
}

// watch watches from a version on, and returns the last version when the watch ends.
func (f feed[T]) watch(ctx context.Context, version string) (string, error) {
	query := url.Values{"resourceVersion": {version}}
	for name, values := range f.query {
		query[name] = values
	}
	err := f.control.api.Watch(ctx, f.path, query, func(e api.Event) error {
		var meta struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		var item T
		if err := json.Unmarshal(e.Object, &meta); err != nil {
			return fmt.Errorf("read an event of %s: %w", f.path, err)
		}
		version = meta.Metadata.ResourceVersion
		if e.Type == "BOOKMARK" {
			return nil
		}
		if err := json.Unmarshal(e.Object, &item); err != nil {
			return fmt.Errorf("read an event of %s: %w", f.path, err)
		}
		c := f.control
		c.mu.Lock()
		defer c.mu.Unlock()
		f.event(e.Type, item)
		c.tellChanged()
		return nil
	})
	return version, err
}

// failed records why a resource is unknown. The copy may be outdated by now, so it drops all held requests.
func (c *Control) failed(path string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if path == recordingsPath { // what was known stays, while the server is away
		if code := api.Code(err); code == http.StatusNotFound || code == http.StatusForbidden {
			c.recordings = nil
			c.tellChanged()
		}
		return
	}
	text := draw.Clean(err.Error())
	if api.Code(err) == http.StatusNotFound {
		text = "this server has none of this (kx.dev/v1alpha1): is it a kx?"
	}
	c.problem[path] = text
	if path == heldPath {
		clear(c.held)
	}
	c.tellChanged()
}

const deleted = "DELETED"

func (c *Control) followBreakpoints(ctx context.Context) {
	followRules(ctx, c, Breakpoint, c.onConnect, func(b v1alpha1.Breakpoint) (Rule, metav1.ObjectMeta) {
		return Rule{Key: Key{Breakpoint, b.Name}, Spec: Spec{Breakpoint: &b.Spec}, On: true, Status: b.Status}, b.ObjectMeta
	})
}

func (c *Control) followFaults(ctx context.Context) {
	followRules(ctx, c, Fault, nil, func(f v1alpha1.Fault) (Rule, metav1.ObjectMeta) {
		return Rule{Key: Key{Fault, f.Name}, Spec: Spec{Fault: &f.Spec}, On: true, Status: f.Status}, f.ObjectMeta
	})
}

// followRules follows the rules of a kind; of converts the server's object to a Rule.
func followRules[T any](ctx context.Context, c *Control, kind Kind, connected func(context.Context), of func(T) (Rule, metav1.ObjectMeta)) {
	feed[T]{
		control: c, path: Key{Kind: kind}.collection(),
		listed: func(items []T, made uint64) {
			c.forget(kind)
			for _, item := range items {
				r, _ := of(item)
				c.put(r)
			}
			c.missing(kind, made)
		},
		event: func(event string, item T) {
			r, meta := of(item)
			c.ruleEvent(event, r, meta)
		},
		connected: connected,
	}.run(ctx)
}

// forget drops the server's rules of a kind. The caller holds mu, as for all functions below.
func (c *Control) forget(kind Kind) {
	for key := range c.rules {
		if key.Kind == kind {
			delete(c.rules, key)
		}
	}
}

func (c *Control) put(r Rule) {
	if len(c.rules) >= 2*objectsMost {
		return
	}
	c.rules[r.Key] = r
	if own := c.own[r.Key]; own != nil {
		own.status = r.Status
	}
}

// missing switches off the user's rules that the server no longer has.
func (c *Control) missing(kind Kind, made uint64) {
	for key, own := range c.own {
		if _, there := c.rules[key]; key.Kind == kind && own.on && !there && own.made <= made {
			own.on, own.note = false, "the server has it no more"
		}
	}
}

func (c *Control) ruleEvent(kind string, r Rule, meta metav1.ObjectMeta) {
	own := c.own[r.Key]
	if kind != deleted {
		c.put(r)
		return
	}
	if own != nil && own.on && own.uid != meta.UID {
		return // one that had the name before
	}
	delete(c.rules, r.Key)
	delete(c.sent, r.Key)
	if own != nil {
		own.status = r.Status
		if own.on {
			own.on, own.note = false, "it was deleted on the server"
		}
	}
}

const heldPath = api.KX + "/journeys"

func (c *Control) followHeld(ctx context.Context) {
	put := func(j v1alpha1.Journey) {
		if len(j.Status.Held) > 0 && len(c.held) < objectsMost {
			c.held[j.Name] = &j
		} else {
			delete(c.held, j.Name)
		}
	}
	feed[v1alpha1.Journey]{
		control: c, path: heldPath, query: url.Values{"filter": {"phase:held"}},
		listed: func(items []v1alpha1.Journey, _ uint64) {
			clear(c.held)
			for _, item := range items {
				put(item)
			}
		},
		event: func(kind string, j v1alpha1.Journey) {
			if kind == deleted {
				delete(c.held, j.Name)
				return
			}
			put(j)
		},
	}.run(ctx)
}
