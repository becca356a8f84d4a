package cache

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

// eventsMost limits the kept events of a watch to the latest.
const eventsMost = 1000

// start describes the beginning of a watch.
type start struct {
	spec v1alpha1.CacheSpec
	// revision is the resourceVersion. Empty sends the present state first, the way that predates sendInitialEvents.
	revision string
	// initial asks for the present state, followed by a bookmark.
	initial bool
}

func (s start) query() url.Values {
	q := url.Values{"allowWatchBookmarks": {"true"}}
	if s.revision != "" {
		q.Set("resourceVersion", s.revision)
	}
	if s.initial {
		q.Set("sendInitialEvents", "true")
		q.Set("resourceVersionMatch", "NotOlderThan")
	}
	return q
}

// words describes the start in a title.
func (s start) words() string {
	switch {
	case s.initial:
		return "with the present state (sendInitialEvents)"
	case s.revision == "":
		return "with the present state"
	}
	return "from " + s.revision
}

// line is an event for display.
type line struct {
	text string
	mark string
}

// stream is a watch with a client's view of events, on a goroutine of its own. mu guards the fields below it.
type stream struct {
	start  start
	cancel context.CancelFunc
	host   screen.Host

	mu     sync.Mutex
	path   string
	lines  []line
	gone   int // the number of dropped events
	events int
	ended  bool
	err    error
}

// startStream begins a watch.
func startStream(life context.Context, host screen.Host, from start) *stream {
	ctx, cancel := context.WithCancel(life)
	w := &stream{start: from, cancel: cancel, host: host}
	go func() {
		defer host.Guard()
		err := w.run(ctx)
		w.mu.Lock()
		w.ended, w.err = true, err
		w.mu.Unlock()
		host.Changed()
	}()
	return w
}

func (w *stream) run(ctx context.Context) error {
	path, err := pathOf(ctx, w.host.API(), w.start.spec)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.path = path
	w.mu.Unlock()
	w.host.Changed()
	return w.host.API().Watch(ctx, path, w.start.query(), w.add)
}

// pathOf returns the path to watch a resource: in the first of its group's versions that serves it.
func pathOf(ctx context.Context, client *api.Client, spec v1alpha1.CacheSpec) (string, error) {
	if spec.Group == "" {
		return "/api/v1/" + spec.Resource, nil
	}
	var group metav1.APIGroup
	if err := client.Get(ctx, "/apis/"+spec.Group, nil, &group); err != nil {
		return "", err
	}
	versions := append([]metav1.GroupVersionForDiscovery{group.PreferredVersion}, group.Versions...)
	for _, version := range versions {
		var list metav1.APIResourceList
		if err := client.Get(ctx, "/apis/"+version.GroupVersion, nil, &list); err != nil {
			return "", err
		}
		served := slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
			return r.Name == spec.Resource && slices.Contains(r.Verbs, "watch")
		})
		if served {
			return "/apis/" + version.GroupVersion + "/" + spec.Resource, nil
		}
	}
	return "", fmt.Errorf("no version of %s serves a watch of %s", spec.Group, spec.Resource)
}

// add stores an event, with only the name and revision of its object.
func (w *stream) add(e api.Event) error {
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(e.Object, &object); err != nil {
		return err
	}
	l := line{text: fmt.Sprintf("%-8s %8s  ", e.Type, object.ResourceVersion)}
	switch {
	case e.Type == "BOOKMARK" && object.Annotations[metav1.InitialEventsAnnotationKey] == "true":
		l.mark, l.text = "=", l.text+"the present state ends here: what follows are changes"
	case e.Type == "BOOKMARK":
		l.mark, l.text = "=", l.text+"nothing else happened up to here: a client that comes back begins from it"
	case object.Namespace != "":
		l.text += object.Namespace + "/" + object.Name
	default:
		l.text += object.Name
	}
	l.text = draw.Clean(l.text)
	w.mu.Lock()
	w.events++
	w.lines = append(w.lines, l)
	if len(w.lines) > eventsMost {
		w.lines = w.lines[1:]
		w.gone++
	}
	w.mu.Unlock()
	w.host.Changed()
	return nil
}

// progress is a copy of a stream's state.
type progress struct {
	path   string
	lines  []line
	gone   int
	events int
	ended  bool
	err    error
}

func (w *stream) progress() progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	return progress{path: w.path, lines: slices.Clone(w.lines), gone: w.gone, events: w.events, ended: w.ended, err: w.err}
}

// expired reports whether a watch ended because its start was too old.
func (s *progress) expired() bool { return api.Code(s.err) == http.StatusGone }

// advice explains how a client proceeds after a 410 Gone.
func (s *progress) advice(from start, cache *v1alpha1.Cache) []string {
	lines := []string{
		"What a client must do now: its revision is of no use any more, and what it has may be wrong.",
		"  1. list again:          GET " + s.path + "?resourceVersion=0",
		"  2. replace all it has by that list, and delete what is not in it",
		"  3. watch from there:    GET " + s.path + "?watch=true&resourceVersion=<the list's metadata.resourceVersion>",
		"or in one request, a watch that begins with the state: " + keys.InitialState.Key() + " sends it (sendInitialEvents=true).",
	}
	if cache != nil {
		after := cache.Status.History.After
		lines = append(lines,
			fmt.Sprintf("The cache has the events after %d, and etcd those that it has not compacted: %s from %d on goes through.",
				after, keys.AtRevision.Key(), after))
		if n, err := strconv.ParseInt(from.revision, 10, 64); err == nil && n >= after {
			lines[len(lines)-1] = fmt.Sprintf("The cache has the events after %d by now.", after)
		}
	}
	return lines
}
