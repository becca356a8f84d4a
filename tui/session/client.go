package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// What a server's answer may be at most.
const (
	listBytesMost  = 64 << 20
	eventBytesMost = 8 << 20
	errorBytesMost = 64 << 10
)

// client asks a server for journeys.
type client struct {
	http     *http.Client
	journeys string // the URL of the collection
}

func newClient(config *rest.Config) (*client, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0 // watches last; requests end with their contexts
	hc, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", config.Host, err)
	}
	base, path, err := rest.DefaultServerURL(config.Host, "/apis", v1alpha1.SchemeGroupVersion, rest.IsConfigTransportTLS(*config))
	if err != nil {
		return nil, fmt.Errorf("read the server's address %q: %w", config.Host, err)
	}
	return &client{http: hc, journeys: base.JoinPath(path, "journeys").String()}, nil
}

// errGone says that a watch can't go on from where it was: the list must be read again.
var errGone = errors.New("the server no longer has that resourceVersion")

// open sends a GET and returns the body of a good answer.
func (c *client) open(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	u := c.journeys + path
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return res.Body, nil
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(res.Body, errorBytesMost))
	var status metav1.Status
	if json.Unmarshal(data, &status) != nil || status.Message == "" {
		status.Message = strings.TrimSpace(string(data))
	}
	return nil, answered(res.StatusCode, status.Message, path)
}

// answered is the error that an answer other than 200 stands for.
func answered(code int, message, path string) error {
	switch {
	case code == http.StatusGone:
		return errGone
	case code == http.StatusNotFound && path == "":
		return errors.New("this server has no journeys (kx.dev/v1alpha1): is it a kx?")
	case code == http.StatusNotFound:
		return ErrForgotten
	}
	return fmt.Errorf("the server answered %d: %s", code, draw.Clean(message))
}

// ErrForgotten says that the server no longer has a journey.
var ErrForgotten = errors.New("the server no longer has this journey: it keeps the latest ones")

func (c *client) get(ctx context.Context, id string) (*v1alpha1.Journey, error) {
	body, err := c.open(ctx, "/"+url.PathEscape(id), nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	j := &v1alpha1.Journey{}
	limited := io.LimitReader(body, listBytesMost)
	if err := json.NewDecoder(limited).Decode(j); err != nil {
		return nil, fmt.Errorf("read journey %s: %w", id, err)
	}
	_, _ = io.Copy(io.Discard, limited) // to its end: a stream that is closed before is a failure to the server
	clean(j)
	return j, nil
}

func query(filter string) url.Values {
	q := url.Values{}
	if filter != "" {
		q.Set("filter", filter)
	}
	return q
}

func (c *client) list(ctx context.Context, filter string) ([]*v1alpha1.Journey, string, error) {
	body, err := c.open(ctx, "", query(filter))
	if err != nil {
		return nil, "", err
	}
	defer body.Close()
	var list v1alpha1.JourneyList
	if err := json.NewDecoder(io.LimitReader(body, listBytesMost)).Decode(&list); err != nil {
		return nil, "", fmt.Errorf("read the list of journeys: %w", err)
	}
	rows := make([]*v1alpha1.Journey, len(list.Items))
	for i := range list.Items {
		rows[i] = &list.Items[i]
		clean(rows[i])
	}
	return rows, list.ResourceVersion, nil
}

// watch calls event for each change after rv until the stream ends. It returns where it came to.
func (c *client) watch(ctx context.Context, filter, rv string, event func(watch.EventType, *v1alpha1.Journey)) (string, error) {
	q := query(filter)
	q.Set("watch", "true")
	q.Set("allowWatchBookmarks", "true")
	q.Set("resourceVersion", rv)
	body, err := c.open(ctx, "", q)
	if err != nil {
		return rv, err
	}
	defer body.Close()
	limited := &eventReader{r: body}
	stream := json.NewDecoder(limited)
	for {
		limited.left = eventBytesMost
		var e metav1.WatchEvent
		if err := stream.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) {
				return rv, nil
			}
			return rv, fmt.Errorf("read the watch of journeys: %w", err)
		}
		if watch.EventType(e.Type) == watch.Error {
			return rv, streamError(e.Object.Raw)
		}
		j := &v1alpha1.Journey{}
		if err := json.Unmarshal(e.Object.Raw, j); err != nil {
			return rv, fmt.Errorf("read the watch of journeys: %w", err)
		}
		rv = j.ResourceVersion
		event(watch.EventType(e.Type), j)
	}
}

func streamError(raw []byte) error {
	var status metav1.Status
	if err := json.Unmarshal(raw, &status); err != nil {
		return fmt.Errorf("read an error of the watch of journeys: %w", err)
	}
	return answered(int(status.Code), status.Message, "")
}

// eventReader bounds how much one event may take.
type eventReader struct {
	r    io.Reader
	left int
}

func (r *eventReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("an event has more than %d bytes", eventBytesMost)
	}
	n, err := r.r.Read(p)
	r.left -= n
	return n, err
}
