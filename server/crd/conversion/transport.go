package conversion

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// maxAnswerBytes is the longest answer that is read to a question of so many bytes: objects may grow, but not without end.
func maxAnswerBytes(asked int64) int64 { return 8*max(asked, 0) + 8<<20 }

// distrustWebhooks gives the clients of webhooks the transport of this package.
func distrustWebhooks(delegate webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
	distrust := func(config *rest.Config, err error) (*rest.Config, error) {
		if err != nil {
			return nil, err
		}
		config = rest.CopyConfig(config)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{next} })
		return config, nil
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

// transport takes from a webhook an answer of bounded size, or only its status code. The webhook may be any address that
// the author of a definition can name: objects must not go where it redirects to, and what another server says there is
// not for the eyes of the client.
type transport struct{ next http.RoundTripper }

var _ utilnet.RoundTripperWrapper = transport{}

// WrappedRoundTripper lets the client cancel a request that takes too long.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode / 100 {
	case 2:
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswerBytes(req.ContentLength)), resp.Body}
	case 3:
		_ = resp.Body.Close() // nothing of it is wanted
		return nil, fmt.Errorf("it answered %d, and redirects are not followed: let the definition name the URL that serves it", resp.StatusCode)
	default:
		_ = resp.Body.Close()
		// The library quotes the body in some messages.
		text := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		resp.Header.Set("Content-Type", "text/plain")
	}
	return resp, nil
}
