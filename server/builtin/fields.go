package builtin

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/store"
)

// Field declares one field that field selectors may name.
type Field[T Object] struct {
	Label string
	// Value returns an object's value of the field. If it is nil, selectors may name the field, and match nothing.
	Value func(T) string
	// AliasOf makes the field another name for the field with this label.
	AliasOf string
	// Served lists the versions in which selectors may name the field; nil means every version of the resource.
	Served []schema.GroupVersion
}

// metaFields returns the fields of every object that selectors match, with capacity for more. An object without a
// namespace has no field for it.
func metaFields(m metav1.Object, more int) fields.Set {
	f := make(fields.Set, 2+more)
	f["metadata.name"] = m.GetName()
	if namespace := m.GetNamespace(); namespace != "" {
		f["metadata.namespace"] = namespace
	}
	return f
}

// attrsOf returns a function that extracts labels and declared fields for selectors, or nil if no fields are
// declared.
func attrsOf[T Object](declared []Field[T]) store.AttrFunc {
	if declared == nil {
		return nil
	}
	return func(object runtime.Object) (labels.Set, fields.Set, error) {
		obj, err := As[T](object)
		if err != nil {
			return nil, nil, err
		}
		set := metaFields(obj, len(declared))
		for _, f := range declared {
			if f.Value != nil {
				set[f.Label] = f.Value(obj)
			}
		}
		return obj.GetLabels(), set, nil
	}
}

// addFieldLabels allows only the declared fields, the name and the namespace in selectors on objects of a kind.
func (r *AnyResource) addFieldLabels(s *runtime.Scheme, kind schema.GroupVersionKind) error {
	known := map[string]string{"metadata.name": "metadata.name"}
	if !r.ClusterScoped && !r.NoNamespaceField {
		known["metadata.namespace"] = "metadata.namespace"
	}
	for _, f := range r.Fields {
		if f.Served != nil && !slices.Contains(f.Served, kind.GroupVersion()) {
			continue
		}
		known[f.Label] = f.Label
		if f.AliasOf != "" {
			known[f.Label] = f.AliasOf
		}
	}
	return s.AddFieldLabelConversionFunc(kind, func(label, value string) (string, string, error) {
		if to, ok := known[label]; ok {
			return to, value, nil
		}
		if r.FieldError != nil {
			return "", "", r.FieldError(kind, label)
		}
		return "", "", fmt.Errorf("field label not supported: %s", label)
	})
}
