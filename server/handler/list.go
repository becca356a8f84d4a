package handler

import (
	"context"
	"net/http"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
)

// ListResource answers GET of a collection: a list, or a watch if the query or forceWatch asks for one. rw may be nil.
// A watch whose client sets no limit lasts between minRequestTimeout and twice as long.
//
//go:noinline
func ListResource(r rest.Lister, rw rest.Watcher, scope *RequestScope, forceWatch bool, minRequestTimeout time.Duration) http.HandlerFunc {
	l := &lister{scope: scope, lister: r, watcher: rw, minRequestTimeout: minRequestTimeout}
	l.queryReader, _ = r.(rest.QueryReader)
	return func(w http.ResponseWriter, req *http.Request) {
		handle := l.handleList
		if forceWatch || wantsWatch(req) {
			handle = l.handleWatch
		}
		if err := handle(w, req); err != nil {
			scope.err(err, w, req)
		}
	}
}

// lister answers lists and watches of a resource.
type lister struct {
	scope             *RequestScope
	lister            rest.Lister
	watcher           rest.Watcher
	queryReader       rest.QueryReader // nil for none
	minRequestTimeout time.Duration
}

// wantsWatch reports whether the request is a watch according to its RequestInfo.
func wantsWatch(req *http.Request) bool {
	info, ok := request.RequestInfoFrom(req.Context())
	return ok && info.Verb == "watch"
}

// request parses a list or watch: its namespace, which it puts into the context, its options, and the form of the
// response.
func (l *lister) request(ctx context.Context, req *http.Request) (context.Context, *metainternalversion.ListOptions,
	negotiation.MediaTypeOptions, error) {
	scope := l.scope
	var mediaType negotiation.MediaTypeOptions
	namespace, name, err := scope.Namer.NameIfAny(req)
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
	if err := selectName(name, options); err != nil {
		return ctx, nil, mediaType, err
	}
	if l.queryReader != nil {
		ctx, err = l.queryReader.ReadQuery(ctx, req.URL.Query())
	}
	return ctx, options, mediaType, err
}

func (l *lister) handleList(w http.ResponseWriter, req *http.Request) (err error) {
	ctx, step := trace.Start(req.Context(), steps.HandlerList, req.URL.Path)
	defer step.End(&err)
	ctx, options, mediaType, err := l.request(ctx, req)
	if err != nil {
		return err
	}
	result, err := restList(ctx, l.lister, l.scope.Resource.Resource, options)
	if err != nil {
		return err
	}
	return transformResponseObject(ctx, l.scope, req, w, http.StatusOK, mediaType, result)
}
