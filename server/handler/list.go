package handler

import (
	"context"
	"net/http"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
)

// ListResource answers GET of a collection: a list, or a watch if the query or forceWatch says so. rw may be nil. A watch
// whose client sets no limit lasts between minRequestTimeout and twice as long.
func ListResource(r rest.Lister, rw rest.Watcher, scope *RequestScope, forceWatch bool, minRequestTimeout time.Duration) http.HandlerFunc {
	queryReader, readsQuery := r.(rest.QueryReader)
	return func(w http.ResponseWriter, req *http.Request) {
		ctx, options, mediaType, err := listRequest(req, scope)
		if err == nil && readsQuery {
			ctx, err = queryReader.ReadQuery(ctx, req.URL.Query())
		}
		if err == nil && (options.Watch || forceWatch) {
			err = handleWatch(ctx, rw, scope, req, w, options, mediaType, minRequestTimeout)
		} else if err == nil {
			err = handleList(ctx, r, scope, req, w, options, mediaType)
		}
		if err != nil {
			scope.err(err, w, req)
		}
	}
}

// listRequest is what a client wants listed or watched, where, and in which form.
func listRequest(req *http.Request, scope *RequestScope) (context.Context, *metainternalversion.ListOptions, negotiation.MediaTypeOptions, error) {
	ctx := req.Context()
	var mediaType negotiation.MediaTypeOptions
	namespace, err := scope.Namer.Namespace(req)
	if err != nil {
		return ctx, nil, mediaType, err
	}
	ctx = request.WithNamespace(ctx, namespace)
	if mediaType, _, err = negotiation.NegotiateOutputMediaType(req, scope.Serializer, scope); err != nil {
		return ctx, nil, mediaType, err
	}
	options, err := listOptions(req, scope)
	if err != nil {
		return ctx, nil, mediaType, err
	}
	return ctx, options, mediaType, selectName(req, scope, options)
}

func handleList(ctx context.Context, r rest.Lister, scope *RequestScope, req *http.Request, w http.ResponseWriter,
	options *metainternalversion.ListOptions, mediaType negotiation.MediaTypeOptions) (err error) {
	ctx, step := trace.Start(ctx, trace.HandlerList, req.URL.Path)
	defer step.End(&err)
	result, err := restList(ctx, r, scope.Resource.Resource, options)
	if err != nil {
		return err
	}
	return transformResponseObject(ctx, scope, req, w, http.StatusOK, mediaType, result)
}
