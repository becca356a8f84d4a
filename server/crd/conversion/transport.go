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

// maxAnswerBytes bounds the answer to a request of some size: objects may grow, but not without limit.
func maxAnswerBytes(asked int64) int64 { return 8*max(asked, 0) + 8<<20 }

// distrustWebhooks gives webhooks' clients this package's transport.
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

// transport accepts answers of bounded size, and only the status code of failures. The author of a definition can name any
// address as the webhook. So objects must not follow its redirects, and clients must not see what a foreign server says.
type transport struct{ next http.RoundTripper }

var _ utilnet.RoundTripperWrapper = transport{}

// WrappedRoundTripper lets the client cancel slow requests.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }

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
