package rest

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// Connecter answers by a connection to another server, such as the node of a pod. H is http.Handler: core knows no
// HTTP.
type Connecter[H any] interface {
	New() runtime.Object
	// Connect returns the handler of the connection to the named object. Later errors go to responder.
	Connect(ctx context.Context, name string, options runtime.Object, responder Responder) (H, error)
	// NewConnectOptions returns empty options. If subpath is true, the path behind the subresource goes into the option
	// pathKey.
	NewConnectOptions() (options runtime.Object, subpath bool, pathKey string)
	// ConnectMethods are the HTTP methods that may connect.
	ConnectMethods() []string
}

// Responder answers a request that a [Connecter] could not connect.
type Responder interface {
	Error(err error)
}

// GetterWithOptions answers GET with options of its own.
type GetterWithOptions interface {
	Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error)
	// NewGetOptions returns empty options, and the rest as NewConnectOptions does.
	NewGetOptions() (options runtime.Object, subpath bool, pathKey string)
}

// ResourceStreamer is the answer of a getter that is no object but a stream, such as a log.
type ResourceStreamer interface {
	// InputStream begins to read. It returns nil if there is nothing to read, and says whether each piece should be
	// sent on at once.
	InputStream(ctx context.Context, apiVersion, acceptHeader string) (stream io.ReadCloser, flush bool, mediaType string, err error)
}
