package core

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/registry"
)

// Event is the resource events of core/v1 and of events.k8s.io/v1: reports about what happened to objects. Both
// groups have the same objects. They are stored in core/v1, with a time to live.
//
// Events of core/v1 keep their old, lenient validation. New events of events.k8s.io must name a reporter, an action
// and a time, and only their series may change. The version of the request decides which rules apply. An event lives
// for ttl after its last change.
func Event(ttl time.Duration) builtin.Resource[*corev1.Event] {
	seconds := uint64(ttl / time.Second)
	return builtin.Resource[*corev1.Event]{
		Names:          builtin.Names{Plural: "events", Singular: "event", Short: []string{"ev"}},
		List:           &corev1.EventList{},
		Stored:         corev1.SchemeGroupVersion,
		Fields:         selectable,
		Validate:       validateEvent,
		ValidateUpdate: func(e, _ *corev1.Event) field.ErrorList { return validateEvent(e) },
		Special:        builtin.Specialize(func(s builtin.Strategy) rest.RESTCreateUpdateStrategy { return eventStrategy{s} }),
		CreateOnUpdate: true,
		// Nothing depends on events.
		Dependents: func(context.Context) rest.GarbageCollectionPolicy { return rest.Unsupported },
		Sample: `
involvedObject: {apiVersion: v1, kind: ConfigMap, namespace: NAMESPACE, name: NAME}
type: Normal
reason: Tried
message: something happened
source: {component: kx}
firstTimestamp: "2026-01-01T00:00:00Z"
lastTimestamp: "2026-01-01T00:00:00Z"
count: 1`,
		Columns: eventColumns,
		Row:     eventRow,
		Hooks: registry.Hooks{
			TTLFunc: func(runtime.Object, uint64, bool) (uint64, error) { return seconds, nil },
		},
	}
}

// EventOfEvents declares the same events in the group events.k8s.io. They are stored as those of the core group.
func EventOfEvents(ttl time.Duration) builtin.Resource[*corev1.Event] {
	r := Event(ttl)
	r.Served = []schema.GroupVersion{eventsv1.SchemeGroupVersion}
	r.Sample = ""
	return r
}

// eventStrategy checks events by the rules of the version that the request uses.
type eventStrategy struct {
	builtin.Strategy
}

func (s eventStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	if version, _ := builtin.RequestVersion(ctx); version == eventsv1.SchemeGroupVersion {
		return validateStrictly(obj.(*corev1.Event))
	}
	return s.Strategy.Validate(ctx, obj)
}

func (s eventStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	if version, _ := builtin.RequestVersion(ctx); version == eventsv1.SchemeGroupVersion {
		return validateStrictUpdate(obj.(*corev1.Event), old.(*corev1.Event))
	}
	return s.Strategy.ValidateUpdate(ctx, obj, old)
}

// Field labels differ between the two groups, except reason and type.
var (
	inCore   = []schema.GroupVersion{corev1.SchemeGroupVersion}
	inEvents = []schema.GroupVersion{eventsv1.SchemeGroupVersion}
)

var selectable = []builtin.Field[*corev1.Event]{
	{Label: "involvedObject.kind", Served: inCore, Value: func(e *corev1.Event) string { return e.InvolvedObject.Kind }},
	{Label: "involvedObject.namespace", Served: inCore, Value: func(e *corev1.Event) string { return e.InvolvedObject.Namespace }},
	{Label: "involvedObject.name", Served: inCore, Value: func(e *corev1.Event) string { return e.InvolvedObject.Name }},
	{Label: "involvedObject.uid", Served: inCore, Value: func(e *corev1.Event) string { return string(e.InvolvedObject.UID) }},
	{Label: "involvedObject.apiVersion", Served: inCore, Value: func(e *corev1.Event) string { return e.InvolvedObject.APIVersion }},
	{Label: "involvedObject.resourceVersion", Served: inCore,
		Value: func(e *corev1.Event) string { return e.InvolvedObject.ResourceVersion }},
	{Label: "involvedObject.fieldPath", Served: inCore, Value: func(e *corev1.Event) string { return e.InvolvedObject.FieldPath }},
	{Label: "reason", Value: func(e *corev1.Event) string { return e.Reason }},
	{Label: "reportingComponent", Served: inCore, Value: func(e *corev1.Event) string { return e.ReportingController }},
	{Label: "source", Served: inCore, Value: component},
	{Label: "type", Value: func(e *corev1.Event) string { return e.Type }},
	{Label: "regarding.kind", Served: inEvents, AliasOf: "involvedObject.kind"},
	{Label: "regarding.namespace", Served: inEvents, AliasOf: "involvedObject.namespace"},
	{Label: "regarding.name", Served: inEvents, AliasOf: "involvedObject.name"},
	{Label: "regarding.uid", Served: inEvents, AliasOf: "involvedObject.uid"},
	{Label: "regarding.apiVersion", Served: inEvents, AliasOf: "involvedObject.apiVersion"},
	{Label: "regarding.resourceVersion", Served: inEvents, AliasOf: "involvedObject.resourceVersion"},
	{Label: "regarding.fieldPath", Served: inEvents, AliasOf: "involvedObject.fieldPath"},
	{Label: "reportingController", Served: inEvents, AliasOf: "reportingComponent"},
}

// component returns the reporter, for which old and new events have different fields.
func component(e *corev1.Event) string {
	if e.Source.Component == "" {
		return e.ReportingController
	}
	return e.Source.Component
}
