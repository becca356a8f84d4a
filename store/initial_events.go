package store

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AnnotateInitialEventsEndBookmark marks a bookmark as the one that ends a watch's initial events.
func AnnotateInitialEventsEndBookmark(obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	annotations := m.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[metav1.InitialEventsAnnotationKey] = "true"
	m.SetAnnotations(annotations)
	return nil
}
