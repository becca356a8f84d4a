package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
)

// operation is a kind of requests to measure.
type operation struct {
	// name is the name in flags and results.
	name string
	// unit is the unit of the figures, in the plural.
	unit string
	// always is set if other operations need it, so that it is never left out.
	always bool
	// prepare does the part that is not measured.
	prepare func(context.Context, *pass) (ready, error)
}

// ready is a prepared operation. end adds the results that load has not counted.
type ready struct {
	load func(context.Context) *tally
	end  func(*tally)
}

// operations lists the operations in the order of measurement.
var operations = []operation{
	{"create", "objects", true, create},
	{"get", "requests", false, reads(1, one(""))},
	{"get-rv0", "requests", false, reads(1, one("?resourceVersion=0"))},
	{"list", "requests", false, reads(listShare, whole("", request{}))},
	{"list-rv0", "requests", false, reads(listShare, whole("?resourceVersion=0", request{}))},
	{"list-gzip", "requests", false, reads(listShare, whole("", request{gzip: true}))},
	{"list-paged", "requests", false, reads(listShare, paged)},
	{"watchlist", "requests", false, reads(listShare, watchList)},
	{"list-selector", "requests", false, reads(listShare, selected)},
	{"table", "requests", false, reads(listShare, whole("?limit=500", request{accept: "application/json;as=Table;v=v1;g=meta.k8s.io"}))},
	{"update", "requests", false, reads(1, update)},
	{"merge-patch", "requests", false, reads(1, mergePatch)},
	{"apply", "requests", false, reads(1, apply)},
	{"patch-rate", "requests", false, patchRate},
	{"watch", "events", false, fanOut(func(Settings) int { return 0 })},
	{"watch-rate", "events", false, fanOut(func(s Settings) int { return s.Rate })},
	{"delete", "objects", false, remove},
	{"deletecollection", "objects", false, removeCollection},
}

// listShare reduces the workers for lists to 1/listShare of the concurrency, since a list costs as much as hundreds
// of other requests.
const listShare = 8

// pageSize is the page size of list-paged.
const pageSize = 500

// Operations returns the names of all operations.
func Operations() (names []string) {
	for _, op := range operations {
		names = append(names, op.name)
	}
	return names
}

func nothing(*tally) {}

// create makes all objects.
func create(_ context.Context, p *pass) (ready, error) {
	load := func(ctx context.Context) *tally {
		workers := min(p.settings.Concurrency, p.settings.Objects)
		t := p.workers(ctx, workers, p.settings.Objects, func(ctx context.Context, w *worker, i int) (answer, error) {
			w.buffer = p.template.write(w.buffer, w.nth+i*w.of, 0)
			return p.send(ctx, w.nth, &request{method: http.MethodPost, path: p.collection(), body: w.buffer})
		})
		p.left = p.settings.Objects
		return t
	}
	return ready{load, nothing}, nil
}

// reads returns an operation of requests that repeat until the time is up. It runs 1/share of the concurrent workers.
func reads(share int, make func(*pass) doer) func(context.Context, *pass) (ready, error) {
	return func(_ context.Context, p *pass) (ready, error) {
		workers := max(1, min(p.settings.Concurrency, p.left)/share)
		return ready{func(ctx context.Context) *tally { return p.workers(ctx, workers, 0, make(p)) }, nothing}, nil
	}
}

func one(query string) func(*pass) doer {
	return func(p *pass) doer {
		return func(ctx context.Context, w *worker, _ int) (answer, error) {
			return p.send(ctx, w.nth, get(p.path(w.object(rand.Int64(), p.left, p.settings.Objects))+query))
		}
	}
}

func whole(query string, r request) func(*pass) doer {
	return func(p *pass) doer {
		r.method, r.path = http.MethodGet, p.collection()+query
		return func(ctx context.Context, w *worker, _ int) (answer, error) { return p.send(ctx, w.nth, &r) }
	}
}

// selected lists one object in a hundred.
func selected(p *pass) doer {
	return func(ctx context.Context, w *worker, _ int) (answer, error) {
		return p.send(ctx, w.nth, get(p.collection()+"?labelSelector=group%3D"+groupOf(rand.IntN(groups))))
	}
}

// paged lists all objects, page by page.
func paged(p *pass) doer {
	return func(ctx context.Context, w *worker, _ int) (answer, error) {
		var sum answer
		for token := ""; ; {
			r := get(fmt.Sprintf("%s?limit=%d&continue=%s", p.collection(), pageSize, url.QueryEscape(token)))
			var e ends
			r.sink = e.write
			a, err := p.send(ctx, w.nth, r)
			sum.code, sum.bytes = a.code, sum.bytes+a.bytes
			if token = e.token(); err != nil || token == "" {
				return sum, err
			}
		}
	}
}

// ends holds the beginning and the end of a list. Its metadata is in one of them.
type ends struct{ first, last []byte }

// endBytes exceeds the size of a list's metadata.
const endBytes = 2048

func (e *ends) write(data []byte) bool {
	if room := endBytes - len(e.first); room > 0 {
		e.first = append(e.first, data[:min(room, len(data))]...)
	}
	data = data[max(0, len(data)-endBytes):]
	e.last = append(e.last, data...)
	if len(e.last) > endBytes {
		e.last = append(e.last[:0], e.last[len(e.last)-endBytes:]...)
	}
	return true
}

func (e *ends) token() string {
	for _, end := range [][]byte{e.first, e.last} {
		if _, after, ok := bytes.Cut(end, []byte(`"continue":"`)); ok {
			if token, _, ok := bytes.Cut(after, []byte(`"`)); ok {
				return string(token)
			}
		}
	}
	return ""
}

// watchList lists with a watch that first sends the existing objects. It ends the watch at the bookmark after them.
func watchList(p *pass) doer {
	end := []byte(`"k8s.io/initial-events-end":"true"`)
	const query = "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
	return func(ctx context.Context, w *worker, _ int) (answer, error) {
		found := false
		var rest []byte // of the previous piece, since the text may span both
		r := get(p.collection() + query)
		r.sink = func(data []byte) bool {
			rest = append(rest, data[:min(len(data), len(end))]...)
			found = bytes.Contains(rest, end) || bytes.Contains(data, end)
			if len(data) > len(end) {
				rest = append(rest[:0], data[len(data)-len(end):]...)
			} else {
				rest = append(rest[:0], rest[max(0, len(rest)-len(end)):]...)
			}
			return !found
		}
		a, err := p.send(ctx, w.nth, r)
		if err == nil && !found {
			err = errors.New("the watch ended before the initial events did")
		}
		return a, err
	}
}

// update reads an object, changes it and writes it back.
func update(p *pass) doer {
	return func(ctx context.Context, w *worker, _ int) (answer, error) {
		path := p.path(w.object(rand.Int64(), p.left, p.settings.Objects))
		w.buffer = w.buffer[:0]
		r := get(path)
		r.sink = func(data []byte) bool {
			w.buffer = append(w.buffer, data...)
			return true
		}
		if a, err := p.send(ctx, w.nth, r); err != nil {
			return a, err
		}
		if !setRound(w.buffer, p.round()) {
			return answer{}, fmt.Errorf("GET %s: the object has no round", path)
		}
		return p.send(ctx, w.nth, &request{method: http.MethodPut, path: path, body: w.buffer})
	}
}

func mergePatch(p *pass) doer {
	return func(ctx context.Context, w *worker, _ int) (answer, error) {
		w.buffer = fmt.Appendf(w.buffer[:0], `{"spec":{"round":"%0*d"}}`, roundDigits, p.round())
		return p.send(ctx, w.nth, &request{method: http.MethodPatch, contentType: "application/merge-patch+json",
			path: p.path(w.object(rand.Int64(), p.left, p.settings.Objects)), body: w.buffer})
	}
}

// apply sends the whole object as a server-side apply.
func apply(p *pass) doer {
	return func(ctx context.Context, w *worker, _ int) (answer, error) {
		n := w.object(rand.Int64(), p.left, p.settings.Objects)
		w.buffer = p.template.write(w.buffer, n, p.round())
		return p.send(ctx, w.nth, &request{method: http.MethodPatch, contentType: "application/apply-patch+yaml",
			path: p.path(n) + "?fieldManager=kx-bench&force=true", body: w.buffer})
	}
}

// remove deletes half of the objects, one by one.
func remove(_ context.Context, p *pass) (ready, error) {
	half := (p.left + 1) / 2
	first := p.settings.Objects - p.left
	load := func(ctx context.Context) *tally {
		t := p.workers(ctx, min(p.settings.Concurrency, half), half, func(ctx context.Context, w *worker, i int) (answer, error) {
			return p.send(ctx, w.nth, &request{method: http.MethodDelete, path: p.path(first + w.nth + i*w.of)})
		})
		p.left -= half
		return t
	}
	return ready{load, nothing}, nil
}

// removeCollection deletes the rest with one request.
func removeCollection(_ context.Context, p *pass) (ready, error) {
	if p.left == 0 {
		return ready{}, errors.New("there is nothing left to delete: it takes two objects")
	}
	load := func(ctx context.Context) *tally {
		t := p.workers(ctx, 1, 1, func(ctx context.Context, _ *worker, _ int) (answer, error) {
			return p.send(ctx, 0, &request{method: http.MethodDelete, path: p.collection()})
		})
		if t.took.n > 0 {
			t.units = int64(p.left)
			p.left = 0
		}
		return t
	}
	return ready{load, nothing}, nil
}
