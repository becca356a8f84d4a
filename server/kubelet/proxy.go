package kubelet

import (
	"context"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/webhook"
)

// Location is the target of a request, with its transport.
type Location struct {
	*url.URL
	Transport http.RoundTripper
}

// Proxy forwards a request to a location. If upgrade is set, it refuses requests that do not upgrade the
// connection.
func Proxy(to Location, upgrade bool, responder rest.Responder) http.Handler {
	// A request without an upgrade may come from a browser: links in its pages must lead through the proxy.
	rewrite := !upgrade
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		over := webhook.Pages(to.Transport)
		if httpstream.IsUpgradeRequest(req) {
			w, over = webhook.Upgrade(w, to.Transport)
		}
		proxy.NewUpgradeAwareHandler(to.URL, over, rewrite, upgrade, proxy.NewErrorResponder(responder)).ServeHTTP(w, req)
	})
}

// ProxyREST is the subresource proxy of pods, services and nodes.
type ProxyREST struct {
	// Options creates empty options, and Path returns the path in them.
	Options func() runtime.Object
	Path    func(options runtime.Object) string
	// ResourceLocation returns the address of an ID such as https:web:443.
	ResourceLocation func(ctx context.Context, id string) (Location, error)
}

var _ rest.Connecter[http.Handler] = &ProxyREST{}

func (r *ProxyREST) New() runtime.Object { return r.Options() }

// Destroy does nothing: the storage belongs to the resource.
func (*ProxyREST) Destroy() {}

// ConnectMethods returns all methods that a page behind the proxy may use.
func (*ProxyREST) ConnectMethods() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead,
		http.MethodOptions}
}

func (r *ProxyREST) NewConnectOptions() (runtime.Object, bool, string) {
	return r.Options(), true, "path"
}

// Connect finds the location, and appends the request's path.
func (r *ProxyREST) Connect(ctx context.Context, id string, options runtime.Object, responder rest.Responder) (http.Handler, error) {
	to, err := r.ResourceLocation(ctx, id)
	if err != nil {
		return nil, err
	}
	to.Path = utilnet.JoinPreservingTrailingSlash(to.Path, r.Path(options))
	return Proxy(to, false, responder), nil
}
