package kxtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	// traceHeader, with the value off, keeps a request out of the journeys: those show what the test did.
	traceHeader = "Kx-Trace"
	// holdHeader, with the value off, keeps a request of an administrator from the faults of the test.
	holdHeader = "Kx-Hold"
	// journeyHeader is the ID of a request in its answer.
	journeyHeader = "Kx-Journey"
	// kxPath is the API group of kx.
	kxPath = "/apis/kx.dev/v1alpha1/"
	// adminUser is the administrator.
	adminUser = "kx-admin"
	// callMost limits each request of this package.
	callMost = 30 * time.Second
)

// client makes the requests of this package, as the administrator.
type client struct {
	http      *http.Client // waits while the server restarts
	direct    *http.Client
	host      string
	dynamic   dynamic.Interface
	discovery *discovery.DiscoveryClient
}

// quiet adds the headers that keep a request out of the test.
type quiet struct{ http.RoundTripper }

func silence(next http.RoundTripper) http.RoundTripper { return quiet{next} }

func (q quiet) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if r.Header.Get(traceHeader) == "" {
		r.Header.Set(traceHeader, "off")
	}
	r.Header.Set(holdHeader, "off")
	return q.RoundTripper.RoundTrip(r)
}

// gated has requests wait while the server restarts, and the restart for requests that are under way. A watch holds up
// no restart once it has begun.
type gated struct {
	next   http.RoundTripper
	gate   *sync.RWMutex
	except string // a part of the User-Agent or the user of requests that do not wait; empty if all do
}

func (g *gated) RoundTrip(r *http.Request) (*http.Response, error) {
	if g.except != "" && strings.Contains(strings.ToLower(r.UserAgent()+"\n"+adminUser), strings.ToLower(g.except)) {
		return g.next.RoundTrip(r)
	}
	g.gate.RLock()
	defer g.gate.RUnlock()
	response, err := g.next.RoundTrip(r)
	if watch := r.URL.Query().Get("watch"); err != nil || watch == "1" || watch == "true" {
		return response, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	return response, nil
}

func newClient(admin *rest.Config, gate *sync.RWMutex) (*client, error) {
	config := rest.CopyConfig(admin)
	config.UserAgent = "kxtest"
	config.Timeout = callMost
	config.Wrap(silence)
	c := &client{host: config.Host}
	var err error
	if c.direct, err = rest.HTTPClientFor(config); err != nil {
		return nil, err
	}
	c.http = &http.Client{Transport: &gated{c.direct.Transport, gate, ""}, Timeout: c.direct.Timeout}
	if c.dynamic, err = dynamic.NewForConfigAndClient(config, c.http); err != nil {
		return nil, err
	}
	c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, c.http)
	return c, err
}

// refused is an answer that is an error, in the server's words.
type refused struct{ metav1.Status }

func (r *refused) Error() string { return r.Message }

// call sends a request and decodes its answer. The error of the server is a *refused.
func (c *client) call(ctx context.Context, method, path string, body, answer any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.host+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 400 {
		r := &refused{metav1.Status{Code: int32(response.StatusCode)}}
		if json.Unmarshal(text, &r.Status) != nil || r.Message == "" {
			r.Message = fmt.Sprintf("%s %s: %s", method, path, response.Status)
		}
		return r
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

// code is the HTTP status of an error; 0 if no answer came.
func code(err error) int32 {
	var r *refused
	if errors.As(err, &r) {
		return r.Code
	}
	return 0
}

// mark makes a request that is recorded, and returns its journey: the requests after it are the test's.
func (c *client) mark() (string, error) {
	request, err := http.NewRequest(http.MethodGet, c.host+"/version", nil)
	if err != nil {
		return "", err
	}
	request.Header.Set(traceHeader, "steps")
	response, err := c.direct.Do(request) // also of a restart
	if err != nil {
		return "", err
	}
	response.Body.Close()
	return response.Header.Get(journeyHeader), nil
}
