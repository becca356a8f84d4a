package work

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/store"
)

// Writer begins the requests of one controller.
type Writer struct {
	// Name is the name of the controller, and User its user.
	Name string
	User user.Info
	// Scope (optional) runs admission on the writes.
	Scope Scope
	// Journeys (optional) records the writes.
	Journeys *trace.Recorder
	// Metrics (optional) counts them.
	Metrics *Metrics

	causes causes
}

// Write describes a write request.
type Write struct {
	Verb                         string
	Resource                     schema.GroupVersionResource
	Subresource, Namespace, Name string
	// Cause is the revision that caused it, 0 if it is unknown.
	Cause int64
	// Why records the decision in the step, with one of trace's reasons.
	Why func(*trace.Step)
	// Quiet records no journey, for objects that a starting server finds missing: on a new server such journeys
	// would be the first that a user sees.
	Quiet bool
	// Void (optional) reports at the end that there was nothing to write: then the write has no journey, and
	// does not count.
	Void *bool
}

func (w *Write) info() *request.RequestInfo {
	return &request.RequestInfo{
		IsResourceRequest: true, Verb: w.Verb, APIGroup: w.Resource.Group, APIVersion: w.Resource.Version,
		Resource: w.Resource.Resource, Subresource: w.Subresource, Namespace: w.Namespace, Name: w.Name,
	}
}

// Reads returns the context of a read request. It does not start the filling of a watch cache.
func (w *Writer) Reads(ctx context.Context, verb string, resource schema.GroupVersionResource, namespace, name string) context.Context {
	one := Write{Verb: verb, Resource: resource, Namespace: namespace, Name: name}
	return store.WithAside(WithRequest(ctx, w.User, one.info()))
}

// Begin returns the context of a write, and records the write as a journey. end ends that with *err.
func (w *Writer) Begin(ctx context.Context, one Write) (_ context.Context, end func(err *error)) {
	info := one.info()
	var j *trace.Journey
	if w.Journeys != nil && !one.Quiet && w.causes.next(one.Cause) {
		ctx, j = w.Journeys.Begin(ctx, trace.Request{
			Method: methods[one.Verb], URI: pathOf(info), Verb: one.Verb, Group: info.APIGroup, Version: info.APIVersion,
			Resource:    info.Resource,
			Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name, User: w.User.GetName(), UserAgent: "kx/" + w.Name,
		})
	}
	if j != nil {
		j.InBackground()
		j.CausedBy(one.Cause)
		_, step := trace.Start(ctx, steps.ControllerDecide, w.Name)
		one.Why(step)
		step.End(nil)
	}
	return plugin.WithTrust(store.WithAside(WithRequest(ctx, w.User, info))), func(err *error) {
		if one.Void != nil && *one.Void {
			w.causes.undo(one.Cause)
			if j != nil {
				j.Discard()
				j.Finish(trace.Response{Code: http.StatusOK})
			}
			return
		}
		code := codeOf(*err)
		if w.Metrics != nil {
			w.Metrics.writes.WithLabelValues(w.Name, info.Resource, one.Verb, strconv.Itoa(code)).Inc()
		}
		if j != nil {
			j.Finish(trace.Response{Code: code})
		}
	}
}

var methods = map[string]string{"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete,
	"deletecollection": http.MethodDelete}

func pathOf(info *request.RequestInfo) string {
	path := "/apis/" + info.APIGroup + "/" + info.APIVersion
	if info.APIGroup == "" {
		path = "/api/" + info.APIVersion
	}
	if info.Namespace != "" {
		path += "/namespaces/" + info.Namespace
	}
	for _, part := range []string{info.Resource, info.Name, info.Subresource} {
		if part != "" {
			path += "/" + part
		}
	}
	return path
}

// codeOf returns the HTTP code that an API client would get.
func codeOf(err error) int {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &status):
		return int(status.Status().Code)
	case errors.Is(err, store.ErrRewound):
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

const (
	// mostEffects limits the recorded writes of one cause: a large cascade leaves room for others.
	mostEffects = 64
	// mostCauses limits the causes that are counted.
	mostCauses = 128
)

// causes counts the journeys of recent causes. mu guards counts.
type causes struct {
	mu     sync.Mutex
	counts map[int64]int
}

// next reports whether one more journey of a cause is recorded, and counts it.
func (c *causes) next(cause int64) bool {
	if cause == 0 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil || len(c.counts) >= mostCauses {
		c.counts = map[int64]int{}
	}
	c.counts[cause]++
	return c.counts[cause] <= mostEffects
}

// undo undoes the count of next.
func (c *causes) undo(cause int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[cause] > 0 {
		c.counts[cause]--
	}
}
