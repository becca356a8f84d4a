package event

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

type strategy struct{ builtin.Strategy }

// Strategy is how events are created and updated.
var Strategy = strategy{builtin.NewStrategy(true)}

// DefaultGarbageCollectionPolicy says that nothing depends on events.
func (strategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return rest.Unsupported
}

func (strategy) AllowCreateOnUpdate() bool { return true }

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validate(obj.(*corev1.Event))
}

func (strategy) ValidateUpdate(_ context.Context, obj, _ runtime.Object) field.ErrorList {
	return validate(obj.(*corev1.Event))
}

// AddToScheme registers field labels.
func AddToScheme(s *runtime.Scheme) error {
	return builtin.AddFieldLabels(s, corev1.SchemeGroupVersion.WithKind("Event"), nil,
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
		"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
		"reason", "reportingComponent", "source", "type", "metadata.namespace", "metadata.name")
}

// Attrs is what selectors see of an event.
func Attrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	e, err := builtin.As[*corev1.Event](obj)
	if err != nil {
		return nil, nil, err
	}
	source := e.Source.Component
	if source == "" {
		source = e.ReportingController
	}
	f := builtin.MetaFields(&e.ObjectMeta, 11)
	f["involvedObject.kind"] = e.InvolvedObject.Kind
	f["involvedObject.namespace"] = e.InvolvedObject.Namespace
	f["involvedObject.name"] = e.InvolvedObject.Name
	f["involvedObject.uid"] = string(e.InvolvedObject.UID)
	f["involvedObject.apiVersion"] = e.InvolvedObject.APIVersion
	f["involvedObject.resourceVersion"] = e.InvolvedObject.ResourceVersion
	f["involvedObject.fieldPath"] = e.InvolvedObject.FieldPath
	f["reason"] = e.Reason
	f["reportingComponent"] = e.ReportingController
	f["source"] = source
	f["type"] = e.Type
	return e.Labels, f, nil
}
