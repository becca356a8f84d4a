package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/kx-apiserver/kx/tui/draw"
)

// Limits of an answer and of one event of a watch.
const (
	answerBytesMost = 64 << 20
	eventBytesMost  = 8 << 20
	errorBytesMost  = 64 << 10
)

// KX is the path of kx's own API.
const KX = "/apis/kx.dev/v1alpha1"

// Client sends requests to one server. Any goroutine may use it.
type Client struct {
	http *http.Client
	base *url.URL
	// ready is closed once the server is known. http and base are set before that and read only after it.
	ready chan struct{}
	// absent is the reason why there is no server.
	absent   string
	presence presence
	// report is called with each request; nil calls nothing.
	report func(Request)
}

// New makes a client of the server of a config.
func New(config *rest.Config) (*Client, error) {
	c := NewPending()
	return c, c.Connect(config)
}

// NewPending makes a client of a server that is not known yet: its requests wait for [Client.Connect].
func NewPending() *Client { return &Client{ready: make(chan struct{})} }

// Report has the client call report with each request that it sends, on any goroutine. It is called before the first.
func (c *Client) Report(report func(Request)) { c.report = report }

// Absent makes a client without a server: its requests fail with the reason why.
func Absent(why string) *Client {
	c := NewPending()
	c.absent = why
	return c
}

// Absent returns the reason why there is no server; empty if there is one, or will be.
func (c *Client) Absent() string { return c.absent }

// Connect sets the server. It is called once.
func (c *Client) Connect(config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.Timeout = 0 // watches last; requests end with their contexts
	hc, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("make a client of %s: %w", config.Host, err)
	}
	base, _, err := rest.DefaultServerURL(config.Host, "", schema.GroupVersion{}, rest.IsConfigTransportTLS(*config))
	if err != nil {
		return fmt.Errorf("read the server's address %q: %w", config.Host, err)
	}
	c.http, c.base = hc, base
	close(c.ready)
	return nil
}

// Host returns the server's address; empty until it is known.
func (c *Client) Host() string {
	select {
	case <-c.ready:
		return c.base.String()
	default:
		return ""
	}
}

// Close closes idle connections.
func (c *Client) Close() {
	if c.Host() == "" {
		return
	}
	transport := c.http.Transport
	if transport == nil { // without TLS or anything else of its own
		transport = http.DefaultTransport
	}
	utilnet.CloseIdleConnectionsFor(transport) // also where it is wrapped
}

// Request is one request.
type Request struct {
	Method string // GET if empty
	// Path is absolute, and may have a query; Query is added to it.
	Path  string
	Query url.Values
	// Header is added to what the client sends by itself.
	Header http.Header
	Body   []byte
	// Asked marks a request that only reads, and that the user asked for.
	Asked bool
}

// Error is an answer whose status is not a success.
type Error struct {
	Request string // method and path
	Status  metav1.Status
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: the server answered %d: %s", e.Request, e.Status.Code, draw.Clean(e.Status.Message))
}

// Code returns the HTTP status of an error answer, or 0 for any other error.
func Code(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return int(e.Status.Code)
	}
	return 0
}

// Reason returns the cause of a failed request, in the server's own words if it gave any.
func Reason(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Status.Message != "" {
		return e.Status.Message
	}
	return err.Error()
}

// Send sends a request and returns the answer, whatever its status. The caller closes the body.
func (c *Client) Send(ctx context.Context, r Request) (*http.Response, error) {
	if c.absent != "" {
		return nil, errors.New(c.absent)
	}
	select {
	case <-c.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	path, query, _ := strings.Cut(r.Path, "?")
	u, err := url.Parse(strings.TrimSuffix(c.base.String(), "/") + path)
	if err != nil {
		return nil, fmt.Errorf("read the path %q: %w", path, err)
	}
	u.RawQuery = query
	if more := r.Query.Encode(); more != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+more, "&")
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if len(r.Body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	if c.report != nil {
		c.report(r)
	}
	res, err := c.http.Do(req)
	return res, c.recordAnswer(ctx, res, err)
}

// JSON sends a request and decodes the answer into out, unless out is nil.
func (c *Client) JSON(ctx context.Context, r Request, out any) error {
	res, err := c.good(ctx, r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	limited := io.LimitReader(res.Body, answerBytesMost)
	if out != nil {
		if err := json.NewDecoder(limited).Decode(out); err != nil {
			return fmt.Errorf("read the answer of %s %s: %w", res.Request.Method, r.Path, err)
		}
	}
	_, _ = io.Copy(io.Discard, limited) // to its end: a stream that is closed before is a failure to the server
	return nil
}

// Get decodes the object at a path into out.
func (c *Client) Get(ctx context.Context, path string, query url.Values, out any) error {
	return c.JSON(ctx, Request{Path: path, Query: query}, out)
}

// Table requests the object or list at a path as the server's table. Each row has a cell for each column: a string,
// int64, float64 or bool as the server sent it. The names of the columns are clean.
func (c *Client) Table(ctx context.Context, path string) (*metav1.Table, error) {
	var data json.RawMessage
	accept := http.Header{"Accept": {"application/json;as=Table;v=v1;g=meta.k8s.io"}}
	if err := c.JSON(ctx, Request{Path: path, Header: accept}, &data); err != nil {
		return nil, err
	}
	table := &metav1.Table{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, table); err != nil {
		return nil, fmt.Errorf("read the table of %s: %w", path, err)
	}
	for _, row := range table.Rows {
		if len(row.Cells) == 0 || len(row.Cells) != len(table.ColumnDefinitions) {
			return nil, fmt.Errorf("read the table of %s: a row has %d cells for %d columns", path,
				len(row.Cells), len(table.ColumnDefinitions))
		}
	}
	for i := range table.ColumnDefinitions {
		table.ColumnDefinitions[i].Name = draw.Clean(table.ColumnDefinitions[i].Name)
	}
	return table, nil
}

// Create sends an object to a collection, and decodes the answer into out unless that is nil.
func (c *Client) Create(ctx context.Context, path string, object, out any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("write what is sent to %s: %w", path, err)
	}
	return c.JSON(ctx, Request{Method: http.MethodPost, Path: path, Body: body}, out)
}

// Delete deletes the object at a path.
func (c *Client) Delete(ctx context.Context, path string) error {
	return c.JSON(ctx, Request{Method: http.MethodDelete, Path: path}, nil)
}

// Event is one event of a watch.
type Event struct {
	Type   string
	Object json.RawMessage
}

// Watch calls each with every event until the stream ends, which is no error, or each returns an error. An event of
// type ERROR is returned as an [Error].
func (c *Client) Watch(ctx context.Context, path string, query url.Values, each func(Event) error) error {
	q := url.Values{"watch": {"true"}}
	for name, values := range query {
		q[name] = values
	}
	res, err := c.good(ctx, Request{Path: path, Query: q})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	limited := &eventReader{r: res.Body}
	stream := json.NewDecoder(limited)
	for {
		limited.left = eventBytesMost
		var e Event
		if err := stream.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return c.cut(ctx, fmt.Errorf("read the watch of %s: %w", path, err))
		}
		if e.Type == "ERROR" {
			failed := &Error{Request: "watch " + path}
			if err := json.Unmarshal(e.Object, &failed.Status); err != nil {
				return fmt.Errorf("read an error of the watch of %s: %w", path, err)
			}
			return failed
		}
		if err := each(e); err != nil {
			return err
		}
	}
}

// good sends a request and returns a successful answer; every other one becomes an error.
func (c *Client) good(ctx context.Context, r Request) (*http.Response, error) {
	res, err := c.Send(ctx, r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(res.Body, errorBytesMost))
	failed := &Error{Request: res.Request.Method + " " + r.Path}
	if json.Unmarshal(data, &failed.Status) != nil || failed.Status.Message == "" {
		failed.Status.Message = strings.TrimSpace(string(data))
	}
	failed.Status.Code = int32(res.StatusCode)
	return nil, failed
}

// eventReader limits the size of one event.
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
