package crd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/crd/definition"
	"github.com/kx-apiserver/kx/server/crd/lister"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// crdHandler answers requests for custom resources, and passes all others to a delegate.
type crdHandler struct {
	config Config
	lister *lister.Lister

	// current maps names to the crdInfo of each definition that is being served.
	current atomic.Pointer[map[string]*crdInfo]
	// mu serializes writers and guards building. Readers of current see a map that is replaced, never changed.
	mu sync.Mutex
	// building maps names to the crdInfos that are being created.
	building map[string]*versionBuild

	retiring sync.WaitGroup
	stopped  context.Context
	stop     context.CancelFunc
}

func newCRDHandler(c Config, l *lister.Lister) *crdHandler {
	h := &crdHandler{config: c, lister: l, building: map[string]*versionBuild{}}
	h.current.Store(&map[string]*crdInfo{})
	h.stopped, h.stop = context.WithCancel(context.Background())
	return h
}

var subresourceMissing = trace.Because("subresource-missing",
	"the definition serves the version, which has no such subresource",
	"该 CRD 提供这个版本，但它没有这个子资源")

// ServeHTTP needs a RequestInfo in the request's context.
func (h *crdHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	ctx := req.Context()
	info, ok := request.RequestInfoFrom(ctx)
	if !ok {
		fail(apierrors.NewInternalError(errors.New("no RequestInfo found in the context")), &request.RequestInfo{}, w, req)
		return
	}
	var err error
	name := ""
	if info.IsResourceRequest {
		name = info.Resource + "." + info.APIGroup
	}
	ctx, step := trace.Start(ctx, steps.CRDServe, name)
	defer step.End(&err)
	if !info.IsResourceRequest {
		step.Why(trace.NoResourcePath)
		h.config.Delegate.ServeHTTP(w, req)
		return
	}
	crd, why, err := h.find(ctx, name, info)
	step.WhyText(why, info.APIVersion)
	var serving *crdInfo
	if crd != nil {
		serving, err = h.getOrCreateServingInfoFor(ctx, crd)
	}
	if apierrors.IsNotFound(err) {
		serving, err = nil, nil // it has gone since
	}
	if err != nil {
		fail(h.resolveError(ctx, name), info, w, req)
		return
	}
	if serving == nil {
		h.config.Delegate.ServeHTTP(w, req)
		return
	}
	defer serving.requests.leave()
	if err = h.serve(ctx, info, crd, serving.versions[info.APIVersion], w, req); err != nil {
		if apierrors.IsNotFound(err) {
			step.Why(subresourceMissing)
		}
		fail(err, info, w, req)
	}
}

// resolveError returns the client's error if a definition could not be read or served. The journey and the log
// have the cause. The client sees it only if an administrator has to remove it.
func (h *crdHandler) resolveError(ctx context.Context, name string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
	}
	if err := h.lister.Unreadable(name); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("error resolving resource: %w", err))
	}
	return apierrors.NewInternalError(errors.New("error resolving resource"))
}

// serve answers a request by a version. If it returns an error, it has written no answer.
func (h *crdHandler) serve(ctx context.Context, info *request.RequestInfo, crd *lister.Definition, v *version, w http.ResponseWriter,
	req *http.Request) error {
	if v == nil { // it is not served any more, since this moment
		h.config.Delegate.ServeHTTP(w, req)
		return nil
	}
	v.deprecation.Tell(ctx, h.config.Metrics)
	switch {
	case info.Subresource == "":
		return h.serveResource(ctx, info, v, terminating(crd), w, req)
	case info.Subresource == "status" && v.status != nil:
		return h.serveStatus(ctx, info, v, w, req)
	case info.Subresource == "scale" && v.scale != nil:
		return h.serveScale(ctx, info, v, w, req)
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name)
}

var (
	noDefinition    = trace.Because("no-definition", "there is no such CustomResourceDefinition", "没有这个 CRD")
	definitionFresh = trace.Because("definition-fresh",
		"the definition was not known here, so it was read from etcd: it serves {version:word}",
		"本进程还不知道这个 CRD，从 etcd 读取：提供版本 {version:word}")
)

// find returns the definition of a request and the reason for serving it, or nil and the reason against it.
// Before it gives up, it reads the definition from etcd: another server may just have established it.
func (h *crdHandler) find(ctx context.Context, name string,
	info *request.RequestInfo) (crd *lister.Definition, why trace.Reason, err error) {
	crd = h.lister.Get(name)
	served, why := serves(crd, info)
	if served {
		return crd, why, nil
	}
	if len(content.IsPathSegmentName(name)) > 0 {
		return nil, why, nil // no object can have this name
	}
	if _, err := h.lister.GetFresh(ctx, name); err != nil && !apierrors.IsNotFound(err) {
		return nil, trace.Reason{}, err
	}
	if crd = h.lister.Get(name); crd == nil {
		return nil, noDefinition, nil
	}
	if served, why = serves(crd, info); !served {
		return nil, why, nil
	}
	return crd, definitionFresh, nil
}

var (
	definitionNotNamespaced = trace.Because("definition-not-namespaced",
		"the resource is not namespaced",
		"该资源不属于命名空间")
	definitionNamespaced = trace.Because("definition-namespaced",
		"the resource is namespaced, but the request has no namespace",
		"该资源属于命名空间，但请求没有指定命名空间")
	versionNotServed = trace.Because("version-not-served",
		"the version {version:word} is not served",
		"版本 {version:word} 没有启用（served）")
	definitionServes = trace.Because("definition-serves",
		"the definition is established and serves {version:word}",
		"CRD 已生效（Established），提供版本 {version:word}")
	definitionServesEarly = trace.Because("definition-serves-early",
		"the definition is not established yet, but its names are accepted, and it serves {version:word}",
		"CRD 还没有 Established，但名称已被接受（NamesAccepted），提供版本 {version:word}")
	namesNotAccepted = trace.Because("names-not-accepted",
		"the definition's names are not accepted",
		"CRD 的名称没有被接受")
)

// serves reports whether a definition serves a request, and why. A namespaced resource can also be listed and
// watched without a namespace.
func serves(crd *lister.Definition, info *request.RequestInfo) (bool, trace.Reason) {
	switch {
	case crd == nil:
		return false, noDefinition
	case crd.Spec.Scope != apiextensionsv1.NamespaceScoped && info.Namespace != "":
		return false, definitionNotNamespaced
	case crd.Spec.Scope == apiextensionsv1.NamespaceScoped && info.Namespace == "" && info.Verb != "list" && info.Verb != "watch":
		return false, definitionNamespaced
	case !apihelpers.HasServedCRDVersion(crd, info.APIVersion):
		return false, versionNotServed
	case apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established):
		return true, definitionServes
	case apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted):
		return true, definitionServesEarly
	}
	return false, namesNotAccepted
}

func terminating(crd *lister.Definition) bool {
	return crd.DeletionTimestamp != nil || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Terminating)
}

var definitionEnding = trace.Because("definition-ending",
	"the definition is being deleted: requests that create objects are refused",
	"CRD 正在删除，拒绝创建对象的请求")

//go:noinline
func (h *crdHandler) serveResource(ctx context.Context, info *request.RequestInfo, v *version, terminating bool, w http.ResponseWriter,
	req *http.Request) (err error) {
	ctx, step := trace.Start(ctx, steps.CRDServeResource, info.Verb)
	defer step.End(&err)
	serve := v.resource[info.Verb]
	if terminating && v.terminating[info.Verb] != nil {
		step.Why(definitionEnding)
		serve = v.terminating[info.Verb]
	}
	return serveVerb(ctx, v.resource, serve, info, w, req)
}

//go:noinline
func (h *crdHandler) serveStatus(ctx context.Context, info *request.RequestInfo, v *version, w http.ResponseWriter,
	req *http.Request) (err error) {
	ctx, step := trace.Start(ctx, steps.CRDServeStatus, info.Verb)
	defer step.End(&err)
	return serveVerb(ctx, v.status, v.status[info.Verb], info, w, req)
}

//go:noinline
func (h *crdHandler) serveScale(ctx context.Context, info *request.RequestInfo, v *version, w http.ResponseWriter,
	req *http.Request) (err error) {
	ctx, step := trace.Start(ctx, steps.CRDServeScale, info.Verb)
	defer step.End(&err)
	return serveVerb(ctx, v.scale, v.scale[info.Verb], info, w, req)
}

// serveVerb answers by serve, one of verbs. If it returns an error, it has written no answer.
func serveVerb(ctx context.Context, verbs map[string]http.HandlerFunc, serve http.HandlerFunc, info *request.RequestInfo,
	w http.ResponseWriter, req *http.Request) error {
	if serve == nil {
		err := apierrors.NewMethodNotSupported(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Verb)
		return handler.MethodNotSupported(ctx, info.Verb, slices.Sorted(maps.Keys(verbs)), err)
	}
	serve(w, req)
	return nil
}

func fail(err error, info *request.RequestInfo, w http.ResponseWriter, req *http.Request) {
	failWith(err, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, req)
}

func failWith(err error, gv schema.GroupVersion, w http.ResponseWriter, req *http.Request) {
	responsewriters.ErrorNegotiated(err, definition.Codecs, gv, w, req)
}
