package handler

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
)

// getterFunc gets the object called name, with the options in the query of req.
type getterFunc func(ctx context.Context, name string, req *http.Request) (runtime.Object, error)

// GetResource answers GET of an object.
func GetResource(r rest.Getter, scope *RequestScope) http.HandlerFunc {
	return getResourceHandler(scope, func(ctx context.Context, name string, req *http.Request) (runtime.Object, error) {
		options, err := getOptions(req)
		if err != nil {
			return nil, err
		}
		return restGet(ctx, r, name, options)
	})
}

// GetResourceWithQuery is GetResource for a storage with additional query parameters.
func GetResourceWithQuery(r rest.Getter, reader rest.QueryReader, scope *RequestScope) http.HandlerFunc {
	return getResourceHandler(scope, func(ctx context.Context, name string, req *http.Request) (runtime.Object, error) {
		options, err := getOptions(req)
		if err != nil {
			return nil, err
		}
		if ctx, err = reader.ReadQuery(ctx, req.URL.Query()); err != nil {
			return nil, err
		}
		return restGet(ctx, r, name, options)
	})
}

// GetResourceWithOptions is GetResource for a storage with options of its own instead of GetOptions.
func GetResourceWithOptions(r rest.GetterWithOptions, scope *RequestScope) http.HandlerFunc {
	return getResourceHandler(scope, func(ctx context.Context, name string, req *http.Request) (runtime.Object, error) {
		options, subpath, pathKey := r.NewGetOptions()
		if err := requestOptions(req, scope, options, subpath, pathKey); err != nil {
			return nil, err
		}
		return restGetWithOptions(ctx, r, name, options)
	})
}

//go:noinline
func getResourceHandler(scope *RequestScope, getter getterFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var err error
		ctx, step := trace.Start(req.Context(), steps.HandlerGet, req.URL.Path)
		defer step.End(&err)
		if err = serveGet(ctx, scope, getter, w, req); err != nil {
			scope.err(err, w, req)
		}
	}
}

// objectRequest parses a request for one object: its namespace, which it puts into the context, its name, and the form
// of the response.
func objectRequest(ctx context.Context, req *http.Request, scope *RequestScope) (_ context.Context, namespace, name string,
	mediaType negotiation.MediaTypeOptions, err error) {
	if namespace, name, err = scope.Namer.Name(req); err != nil {
		return ctx, "", "", mediaType, err
	}
	mediaType, _, err = negotiation.NegotiateOutputMediaType(req, scope.Serializer, scope)
	return request.WithNamespace(ctx, namespace), namespace, name, mediaType, err
}

func serveGet(ctx context.Context, scope *RequestScope, getter getterFunc, w http.ResponseWriter, req *http.Request) error {
	ctx, _, name, mediaType, err := objectRequest(ctx, req, scope)
	if err != nil {
		return err
	}
	result, err := getter(ctx, name, req)
	if err != nil {
		return err
	}
	if stream, ok := result.(rest.ResourceStreamer); ok {
		return streamObject(ctx, scope, stream, w, req)
	}
	return transformResponseObject(ctx, scope, req, w, http.StatusOK, mediaType, result)
}
