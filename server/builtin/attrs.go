package builtin

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// As is obj as a T, or an error that says what it is instead.
func As[T runtime.Object](obj runtime.Object) (T, error) {
	t, ok := obj.(T)
	if !ok {
		return t, fmt.Errorf("not a %T: %T", t, obj)
	}
	return t, nil
}

// MetaFields are the fields that selectors see in every object, with room for more of its own. An object without a
// namespace has no field for it.
func MetaFields(m *metav1.ObjectMeta, more int) fields.Set {
	f := make(fields.Set, 2+more)
	f["metadata.name"] = m.Name
	if m.Namespace != "" {
		f["metadata.namespace"] = m.Namespace
	}
	return f
}
