package again

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/send/exchange"
)

// Variant is a way that a request could have gone instead.
type Variant struct {
	// Name is in English; core/lang translates it.
	Name string
	// Box is where its way leaves the one of the request.
	Box     story.Box
	request request.HTTP
}

// outdatedRevision is a revision that no object has any more.
const outdatedRevision = "1"

// parts are the subresources that are read and written as their objects are.
var parts = []string{"", "status", "scale"}

// Variants returns the variants of a request, or the reason why it has none.
func Variants(j *v1alpha1.Journey) (all []Variant, why string) {
	to, note := Replay(j, true)
	path, query, _ := strings.Cut(to.URI, "?")
	q, err := url.ParseQuery(query)
	if err != nil || j.Spec.Resource == "" || !slices.Contains(parts, j.Spec.Subresource) {
		return nil, "only reads and writes of objects have other ways"
	}
	add := func(name string, box story.Box, body []byte, edit func(url.Values)) {
		v := Variant{Name: name, Box: box, request: request.HTTP{Method: to.Method, Path: path, Query: maps.Clone(q), Body: body}}
		if edit(v.request.Query); to.ContentType != "" {
			v.request.Header = map[string][]string{"Content-Type": {to.ContentType}}
		}
		all = append(all, v)
	}
	dry := func(q url.Values) { q.Set("dryRun", "All") }
	switch verb := j.Spec.Verb; verb {
	case "get", "list":
		switch {
		case q.Has("continue"):
			return nil, "a further page has the state of the first one: it has no other way"
		case !slices.ContainsFunc(j.Status.Steps, func(s v1alpha1.Step) bool { return s.Layer == steps.LayerCacher.String() }):
			return nil, "no watch cache was asked for it: the read has no other way"
		case q.Get("resourceVersion") == "":
			add("resourceVersion=0", story.Cacher, nil, func(q url.Values) { q.Set("resourceVersion", "0") })
		default:
			add("the newest state", story.Cacher, nil, func(q url.Values) {
				q.Del("resourceVersion")
				q.Del("resourceVersionMatch")
			})
		}
	case "create", "update", "patch", "delete", "deletecollection":
		if !to.Held {
			return nil, note
		}
		if verb != "update" && verb != "patch" {
			if !q.Has("dryRun") { // the object is made, or gone: it may well end otherwise
				add("once more, as a dry run", story.Store, to.Body, dry)
			}
			break
		}
		if !q.Has("dryRun") {
			add("a dry run", story.Store, afterItself(j, to.Body), dry)
		}
		if body := atRevision(to.Body, outdatedRevision); body != nil {
			add("an outdated revision, as a dry run", story.Store, body, dry)
		}
	}
	if all == nil {
		why = "a watch and a dry run have no other way"
	}
	return all, why
}

// afterItself returns the body with the revision that the request left, if the body has one: the request itself made
// that outdated.
func afterItself(j *v1alpha1.Journey, body []byte) []byte {
	var object struct {
		Metadata struct{ ResourceVersion string }
	}
	if j.Status.Revision == 0 || json.Unmarshal(body, &object) != nil || object.Metadata.ResourceVersion == "" {
		return body
	}
	return atRevision(body, strconv.FormatInt(j.Status.Revision, 10))
}

// atRevision returns the body with another revision, or nil if it is no object.
func atRevision(body []byte, revision string) []byte {
	var object, metadata map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || object == nil {
		return nil
	}
	if had, ok := object["metadata"]; ok && json.Unmarshal(had, &metadata) != nil {
		return nil
	}
	if metadata == nil {
		metadata = map[string]json.RawMessage{}
	}
	metadata["resourceVersion"] = json.RawMessage(strconv.Quote(revision))
	changed, err := json.Marshal(metadata)
	if err != nil {
		return nil
	}
	object["metadata"] = changed
	if body, err = json.Marshal(object); err != nil {
		return nil
	}
	return body
}

// errUnrecorded is about an answer without the name of a journey.
var errUnrecorded = errors.New("the server recorded no journey of it")

// pause is the time between two looks at a journey that has not ended.
const pause = 20 * time.Millisecond

// Send sends the request of a variant, and returns its journey once that has ended.
func (v *Variant) Send(ctx context.Context, c *api.Client) (*v1alpha1.Journey, error) {
	res, done, err := exchange.Do(ctx, c, v.request, exchange.Options{})
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	done()
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	name := res.Header.Get(exchange.JourneyHeader)
	if name == "" {
		return nil, errUnrecorded
	}
	for {
		var j v1alpha1.Journey
		if err := c.Get(ctx, api.KX+"/journeys/"+name, nil, &j); err != nil || j.Status.Phase == v1alpha1.JourneyComplete {
			return &j, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
