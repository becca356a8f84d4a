package kubectl

import (
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/cmd/kx/internal/join"
)

// wrapConfig puts this package's transport before that of each client that a command makes. Journeys are fetched from
// the first client's server.
func (w *wiring) wrapConfig(c *rest.Config) *rest.Config {
	join.LimitPlugins(c, w.say)
	c.UserAgent = join.Agent()
	w.trace.serverIs(c)
	prefix := ""
	if server, _, err := rest.DefaultServerUrlFor(c); err == nil { // otherwise no client is made
		prefix = strings.TrimSuffix(server.Path, "/")
	}
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &transport{wiring: w, prefix: prefix, next: next}
	})
	return c
}

// transport handles each request of a command.
type transport struct {
	*wiring
	prefix string // of all paths of the server, such as /k8s/clusters/c1; often empty
	next   http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport that can cancel a request at its timeout.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// CancelRequest is for client-go's cache of discovery, which looks no further.
func (t *transport) CancelRequest(req *http.Request) {
	if next, ok := t.next.(interface{ CancelRequest(*http.Request) }); ok {
		next.CancelRequest(req)
	}
}

// RoundTrip applies kx's flags to a request and its answer.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	t.trace.ask(&req)
	answer, err := t.at.rewrite(&req, t.prefix, t.next, t.say)
	if err != nil {
		return refusal(req, err)
	}
	res, err := t.roundTrip(req, t.next)
	if err != nil {
		return nil, err
	}
	t.trace.took(req, res)
	t.missing.see(req, t.prefix, res)
	if err := t.again.see(t.wiring, req, res); err != nil {
		return nil, err
	}
	if err := t.conflicts.see(req, res); err != nil {
		return nil, err
	}
	if answer != nil {
		return answer(res)
	}
	return res, nil
}
