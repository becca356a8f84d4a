package event

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/registry"
)

// Resource declares events, which live for ttl after their last change.
func Resource(ttl time.Duration) builtin.Resource[*corev1.Event] {
	seconds := uint64(ttl / time.Second)
	return builtin.Resource[*corev1.Event]{
		Names:          builtin.Names{Plural: "events", Singular: "event", Short: []string{"ev"}},
		List:           &corev1.EventList{},
		Stored:         corev1.SchemeGroupVersion,
		Fields:         selectable,
		Validate:       validate,
		ValidateUpdate: func(e, _ *corev1.Event) field.ErrorList { return validate(e) },
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
		Columns: columns,
		Row:     row,
		Hooks: registry.Hooks{
			TTLFunc: func(runtime.Object, uint64, bool) (uint64, error) { return seconds, nil },
		},
	}
}

var selectable = []builtin.Field[*corev1.Event]{
	{Label: "involvedObject.kind", Value: func(e *corev1.Event) string { return e.InvolvedObject.Kind }},
	{Label: "involvedObject.namespace", Value: func(e *corev1.Event) string { return e.InvolvedObject.Namespace }},
	{Label: "involvedObject.name", Value: func(e *corev1.Event) string { return e.InvolvedObject.Name }},
	{Label: "involvedObject.uid", Value: func(e *corev1.Event) string { return string(e.InvolvedObject.UID) }},
	{Label: "involvedObject.apiVersion", Value: func(e *corev1.Event) string { return e.InvolvedObject.APIVersion }},
	{Label: "involvedObject.resourceVersion", Value: func(e *corev1.Event) string { return e.InvolvedObject.ResourceVersion }},
	{Label: "involvedObject.fieldPath", Value: func(e *corev1.Event) string { return e.InvolvedObject.FieldPath }},
	{Label: "reason", Value: func(e *corev1.Event) string { return e.Reason }},
	{Label: "reportingComponent", Value: func(e *corev1.Event) string { return e.ReportingController }},
	{Label: "source", Value: component},
	{Label: "type", Value: func(e *corev1.Event) string { return e.Type }},
}

// component is the reporter: old and new events have a field each.
func component(e *corev1.Event) string {
	if e.Source.Component == "" {
		return e.ReportingController
	}
	return e.Source.Component
}
