package handler

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// ConnectResource passes requests on to the process, service or node behind an object.
//
//go:noinline
func ConnectResource(r rest.Connecter[http.Handler], scope *RequestScope) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var err error
		ctx, step := trace.Start(req.Context(), steps.HandlerConnect, req.URL.Path)
		defer step.End(&err)
		responder := &responder{scope: scope, w: w, req: req}
		target, err := connect(ctx, r, scope, responder)
		if err != nil {
			scope.err(err, w, req)
			return
		}
		err = runProxy(ctx, target, responder)
	}
}

// connect runs admission, and then gets the handler of the connection from the storage.
func connect(ctx context.Context, r rest.Connecter[http.Handler], scope *RequestScope, responder *responder) (http.Handler, error) {
	if len(responder.req.URL.Query()["dryRun"]) > 0 {
		return nil, apierrors.NewBadRequest("dryRun is not supported")
	}
	namespace, name, err := scope.Namer.Name(responder.req)
	if err != nil {
		return nil, err
	}
	ctx = request.WithNamespace(ctx, namespace)
	options, subpath, pathKey := r.NewConnectOptions()
	if err := requestOptions(responder.req, scope, options, subpath, pathKey); err != nil {
		return nil, err
	}
	user, _ := request.UserFrom(ctx)
	attributes := admission.NewAttributesRecord(options, nil, scope.Kind, namespace, name, scope.Resource, scope.Subresource,
		admission.Connect, nil, false, user)
	if err := mutate(ctx, scope, attributes); err != nil {
		return nil, err
	}
	if err := validate(ctx, scope, attributes); err != nil {
		return nil, err
	}
	return restConnect(ctx, r, name, options, responder)
}

// runProxy runs target. It returns the error that the responder sent, if any. The bytes of the connection are not
// recorded.
func runProxy(ctx context.Context, target http.Handler, responder *responder) (err error) {
	ctx, step := trace.Start(ctx, steps.HandlerProxy, "")
	defer step.End(&err)
	w, end := newPatientWriter(ctx, responder.w)
	defer end()
	target.ServeHTTP(w, responder.req.WithContext(w.ctx))
	return responder.failed
}

// responder answers with an error if the connection fails.
type responder struct {
	scope  *RequestScope
	w      http.ResponseWriter
	req    *http.Request
	failed error
}

func (r *responder) Error(err error) {
	r.failed = err
	r.scope.err(err, r.w, r.req)
}

// requestOptions decodes a resource's own options from the query, plus the path behind the subresource.
func requestOptions(req *http.Request, scope *RequestScope, into runtime.Object, subpath bool, pathKey string) error {
	return decodeOptions(req, reflect.TypeOf(into).Elem().Name(), func() error {
		query := req.URL.Query()
		if subpath {
			info, _ := request.RequestInfoFrom(req.Context())
			query[pathKey] = []string{pathBehind(info)}
		}
		if err := scope.ParameterCodec.DecodeParameters(query, scope.Kind.GroupVersion(), into); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		return nil
	})
}

// pathBehind returns the path behind resource, name and subresource. It ends in a slash if the whole path does.
func pathBehind(info *request.RequestInfo) string {
	path := strings.Join(info.Parts[min(3, len(info.Parts)):], "/")
	if path != "" && !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if strings.HasSuffix(info.Path, "/") && !strings.HasSuffix(path, "/") {
		path += "/"
	}
	return path
}
