package rest

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// WipeObjectMetaSystemFields clears the metadata that only the server sets.
func WipeObjectMetaSystemFields(m metav1.Object) {
	m.SetUID("")
	m.SetCreationTimestamp(metav1.Time{})
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetSelfLink("")
}

// FillObjectMetaSystemFields gives a new object its UID and its time of creation.
func FillObjectMetaSystemFields(m metav1.Object) {
	m.SetUID(uuid.NewUUID())
	m.SetCreationTimestamp(metav1.Now())
}

// EnsureObjectNamespaceMatchesRequestNamespace gives obj the namespace of the request. An obj that names another one is
// refused, unless the request is for no namespace at all.
func EnsureObjectNamespaceMatchesRequestNamespace(requestNamespace string, obj metav1.Object) error {
	if objNamespace := obj.GetNamespace(); objNamespace != "" && requestNamespace != "" && objNamespace != requestNamespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	obj.SetNamespace(requestNamespace)
	return nil
}

// ExpectedNamespaceForScope is the namespace that an object of a request must have, by the scope of its resource.
func ExpectedNamespaceForScope(requestNamespace string, namespaceScoped bool) string {
	if namespaceScoped {
		return requestNamespace
	}
	return ""
}

// ExpectedNamespaceForResource is the same for a caller that knows only the resource. A request for one namespace
// carries that namespace's name, but its object has no namespace.
func ExpectedNamespaceForResource(requestNamespace string, resource schema.GroupVersionResource) string {
	if resource.Group == "" && resource.Resource == "namespaces" {
		return ""
	}
	return requestNamespace
}
