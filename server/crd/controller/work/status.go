package work

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
)

// Definition is a CustomResourceDefinition as the lister has it.
type Definition = apiextensionsv1.CustomResourceDefinition

// ErrChanged says that a definition has changed since it was judged. The lister will report that change.
var ErrChanged = errors.New("the definition has changed since it was looked at")

const (
	// WritesMost is how many definitions a controller writes at a time, so that etcd can sync its disk once for many writes.
	WritesMost = 16
	// longestWrite bounds one write.
	longestWrite = 30 * time.Second
)

var apiServer = &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}

// As returns the context of a request that a controller makes.
func As(ctx context.Context, info *request.RequestInfo) context.Context {
	ctx = request.WithUser(ctx, apiServer)
	ctx = request.WithNamespace(ctx, info.Namespace)
	return request.WithRequestInfo(ctx, info)
}

// Status writes the status of definitions.
type Status struct {
	// Storage is the storage of customresourcedefinitions/status.
	Storage rest.Updater
	// Journeys (optional) records the writes, as those of Agent, with the revision that was seen as their cause.
	Journeys *trace.Recorder
	Agent    string
}

// Of returns the Status by which one of the controllers writes.
func (s Status) Of(controller string) Status {
	s.Agent = "kx/" + controller + "-controller"
	return s
}

// Begin starts the journey of something that a controller does because of the state of a definition. It is never held or
// disturbed: rules are for requests. end ends it with *err.
func (s Status) Begin(ctx context.Context, seen *Definition, method, uri string, info *request.RequestInfo) (_ context.Context, end func(err *error)) {
	if s.Journeys == nil {
		return ctx, func(*error) {}
	}
	ctx, j := s.Journeys.Begin(ctx, trace.Request{
		Method: method, URI: uri, Verb: info.Verb, Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource,
		Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name, User: apiServer.Name, UserAgent: s.Agent,
	})
	if j == nil {
		return ctx, func(*error) {}
	}
	j.LeaveAlone()
	j.CausedBy(int64(Revision(seen)))
	return ctx, func(err *error) { j.Finish(trace.Response{Code: codeOf(*err)}) }
}

// codeOf is the code that a client of the API would get.
func codeOf(err error) int {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, ErrChanged):
		return http.StatusConflict
	case errors.As(err, &status):
		return int(status.Status().Code)
	}
	return http.StatusInternalServerError
}

// Update applies change to the seen definition, writes it, and returns it. change may edit the status and the finalizers. The
// error is ErrChanged if the definition in etcd is not the one that was seen.
func (s Status) Update(ctx context.Context, seen *Definition, change func(*Definition)) (_ *Definition, err error) {
	next := *seen
	next.Status = *seen.Status.DeepCopy()
	next.Finalizers = slices.Clone(seen.Finalizers)
	change(&next)
	for i := range next.Status.Conditions {
		c := &next.Status.Conditions[i]
		c.Message = escape.Text(c.Message) // it may quote the schema
	}

	ctx, cancel := context.WithTimeout(ctx, longestWrite)
	defer cancel()
	info := &request.RequestInfo{
		IsResourceRequest: true, Verb: "update", APIGroup: apiextensions.GroupName, APIVersion: "v1",
		Resource: "customresourcedefinitions", Subresource: "status", Name: seen.Name,
	}
	ctx, end := s.Begin(ctx, seen, http.MethodPut, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+seen.Name+"/status", info)
	defer end(&err)
	ctx = As(ctx, info)
	out, _, err := s.Storage.Update(ctx, seen.Name, rest.DefaultUpdatedObjectInfo(nil, replace(seen, &next)),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil, ErrChanged
	}
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(out)
	if err != nil {
		return nil, err
	}
	next.ResourceVersion = m.GetResourceVersion()
	return &next, nil
}

// replace returns next if the stored definition is the one that was seen.
func replace(seen, next *Definition) rest.TransformFunc {
	return func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		stored, err := builtin.As[*apiextensions.CustomResourceDefinition](old)
		if err != nil {
			return nil, err
		}
		if stored.UID != seen.UID || stored.ResourceVersion != seen.ResourceVersion {
			return nil, ErrChanged
		}
		// The spec, which may be large, is shared: a status update leaves it alone.
		d := *stored
		d.ObjectMeta = *stored.ObjectMeta.DeepCopy()
		d.Finalizers = next.Finalizers
		d.Status = apiextensions.CustomResourceDefinitionStatus{}
		err = apiextensionsv1.Convert_v1_CustomResourceDefinitionStatus_To_apiextensions_CustomResourceDefinitionStatus(&next.Status, &d.Status, nil)
		return &d, err
	}
}

// Revision returns a definition's resourceVersion as a number. Every definition from storage has one; 0 stands for none.
func Revision(d *Definition) uint64 {
	revision, _ := strconv.ParseUint(d.ResourceVersion, 10, 64)
	return revision
}
