package webhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/trace"
)

// Limit returns the largest size of an answer to a request of a size; -1 means that the size is unknown.
type Limit func(asked int64) int64

// Distrust gives the library's clients a transport that limits answers and refuses redirects.
func Distrust(limit Limit) webhook.AuthenticationInfoResolverWrapper {
	return func(delegate webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		distrust := func(config *rest.Config, err error) (*rest.Config, error) {
			if err != nil {
				return nil, err
			}
			return LimitAnswers(config, limit), nil
		}
		return &webhook.AuthenticationInfoResolverDelegator{
			ClientConfigForFunc: func(hostPort string) (*rest.Config, error) {
				return distrust(delegate.ClientConfigFor(hostPort))
			},
			ClientConfigForServiceFunc: func(name, namespace string, port int) (*rest.Config, error) {
				return distrust(delegate.ClientConfigForService(name, namespace, port))
			},
		}
	}
}

// LimitAnswers returns a client configuration with a transport that limits answers and refuses redirects.
func LimitAnswers(config *rest.Config, limit Limit) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{next: next, limit: limit} })
	return config
}

// Documents returns such a transport for reads from a server that receives no objects. Its client may follow
// redirects.
func Documents(next http.RoundTripper, most int64) http.RoundTripper {
	return transport{next: next, limit: func(int64) int64 { return most }, follow: true}
}

// Answers returns such a transport for a server whose failures are passed on with their bodies, which have the
// same limit.
func Answers(next http.RoundTripper, most int64) http.RoundTripper {
	return transport{next: next, limit: func(int64) int64 { return most }, whole: true}
}

// Exchange holds the figures of one call, including retries. It is complete when the call has returned.
type Exchange struct {
	// Attempts counts the attempts to send the request.
	Attempts int64
	// Sent and Received are the body sizes of the last attempt, with the answer unpacked.
	Sent, Received int64
	// Code is the status code of the last answer, 0 if there was none.
	Code int
	// Reused means that the last attempt needed no new connection.
	Reused bool

	outage trace.Outage
}

type exchangeKey struct{}

// Observe returns a context whose call, which the step is about, fills in the Exchange. The call is not made if a fault
// has the webhook be down.
func Observe(ctx context.Context, step *trace.Step) (context.Context, *Exchange) {
	e := &Exchange{outage: step.Outage()}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { e.Reused = got.Reused }})
	return context.WithValue(ctx, exchangeKey{}, e), e
}

// transport accepts answers of limited size. It passes on only the status code of failures, unless whole is
// set.
type transport struct {
	next  http.RoundTripper
	limit Limit
	// follow leaves redirects to the client.
	follow bool
	// whole leaves failures and redirects to the client, with their bodies.
	whole bool
}

var _ utilnet.RoundTripperWrapper = transport{}

// WrappedRoundTripper returns the inner transport, so that the client can cancel slow requests.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	e, ok := req.Context().Value(exchangeKey{}).(*Exchange)
	if !ok {
		e = &Exchange{}
	}
	e.Attempts++
	e.Sent, e.Received, e.Code = max(req.ContentLength, 0), 0, 0
	next := t.next
	if e.outage.How != "" {
		next = outage{e.outage, next}
	}
	resp, err := next.RoundTrip(traceRequest(req))
	if err != nil {
		return nil, err
	}
	e.Code = resp.StatusCode
	switch class := resp.StatusCode / 100; {
	case class == 2 || t.whole:
		most := t.limit(req.ContentLength)
		resp.Body = &answer{ReadCloser: resp.Body, left: most, most: most, exchange: e}
	case class == 3 && !t.follow:
		_ = resp.Body.Close() // nothing of it is wanted
		return nil, fmt.Errorf("it answered %d, and redirects are not followed: let the configuration name the address that serves it",
			resp.StatusCode)
	default:
		_ = resp.Body.Close()
		// Libraries quote the body in some messages, also of a redirect: a client that finds no Location reads
		// its body.
		text := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		resp.Header.Set("Content-Type", "text/plain")
	}
	return resp, nil
}

// traceRequest returns a request that continues the trace of the request that caused it.
func traceRequest(req *http.Request) *http.Request {
	out := req
	trace.Propagate(req.Context(), func(name, value string) {
		if out == req { // which belongs to its sender
			out = req.Clone(req.Context())
		}
		out.Header.Set(name, value)
	})
	return out
}

// answer is a body that fails when it exceeds its limit.
type answer struct {
	io.ReadCloser
	left, most int64
	exchange   *Exchange
}

func (a *answer) Read(p []byte) (int, error) {
	// Reading one byte beyond the limit distinguishes a body that ends there from a longer one.
	if int64(len(p)) > a.left+1 {
		p = p[:a.left+1]
	}
	n, err := a.ReadCloser.Read(p)
	a.left -= int64(n)
	a.exchange.Received += int64(n)
	if a.left < 0 {
		return 0, fmt.Errorf("it answered more than %d bytes, which is the most that is read", a.most)
	}
	return n, err
}
