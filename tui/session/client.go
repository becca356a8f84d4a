package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/draw"
)

const journeys = api.KX + "/journeys"

// client requests journeys from a server.
type client struct {
	api     *api.Client
	reasons trace.Catalogue
}

// Answers of a server that callers tell apart from other failures.
var (
	// ErrForgotten means that the server no longer has a journey.
	ErrForgotten = errors.New("the server no longer has this journey: it keeps the latest ones")
	// errGone means that a watch can't resume at its revision: the list must be read again.
	errGone = errors.New("the server no longer has that resourceVersion")
	errNoKX = errors.New("it answers, but it isn't a kx: it has no kx.dev API")
)

func (c *client) get(ctx context.Context, id string) (*v1alpha1.Journey, error) {
	j := &v1alpha1.Journey{}
	err := c.api.Get(ctx, journeys+"/"+url.PathEscape(id), nil, j)
	if api.Code(err) == http.StatusNotFound {
		return nil, ErrForgotten
	}
	if err != nil {
		return nil, err
	}
	Clean(j)
	lang.Complete(j, c.reasons)
	return j, nil
}

func (c *client) nameList(field string) []string { return c.reasons.Names(field) }

func (c *client) phase() Phase { return Live }

func (c *client) close() { c.api.Close() }

func query(filter string) url.Values {
	q := url.Values{}
	if filter != "" {
		q.Set("filter", filter)
	}
	return q
}

func (c *client) list(ctx context.Context, filter string) ([]*v1alpha1.Journey, string, error) {
	var list v1alpha1.JourneyList
	if err := c.api.Get(ctx, journeys, query(filter), &list); err != nil {
		return nil, "", sessionError(err)
	}
	rows := make([]*v1alpha1.Journey, len(list.Items))
	for i := range list.Items {
		rows[i] = &list.Items[i]
		Clean(rows[i])
	}
	return rows, list.ResourceVersion, nil
}

// watch calls event for each change after rv until the stream ends. It returns the last revision.
func (c *client) watch(ctx context.Context, filter, rv string, event func(watch.EventType, *v1alpha1.Journey)) (string, error) {
	q := query(filter)
	q.Set("allowWatchBookmarks", "true")
	q.Set("resourceVersion", rv)
	err := c.api.Watch(ctx, journeys, q, func(e api.Event) error {
		j := &v1alpha1.Journey{}
		if err := json.Unmarshal(e.Object, j); err != nil {
			return fmt.Errorf("read the watch of journeys: %w", err)
		}
		rv = j.ResourceVersion
		event(watch.EventType(e.Type), j)
		return nil
	})
	return rv, sessionError(err)
}

// sessionError translates an error of the collection's API into a session error.
func sessionError(err error) error {
	var e *api.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Status.Code == http.StatusGone:
		return errGone
	case e.Status.Code == http.StatusNotFound:
		return errNoKX
	}
	return fmt.Errorf("the server answered %d: %s", e.Status.Code, draw.Clean(e.Status.Message))
}
