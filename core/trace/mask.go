package trace

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// lastApplied is where kubectl apply keeps a copy of what it sent, secrets included.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Mask is an object as JSON, without what is secret in it.
func Mask(obj apiruntime.Object) []byte { return encodeMasked(obj) }

// encodeMasked makes bytes of an object as it is now, without what is secret in it. A value that is not shown still
// says how long it is.
func encodeMasked(obj apiruntime.Object) []byte {
	if encoded, ok := obj.(interface {
		Object() (apiruntime.Object, error)
	}); ok {
		decoded, err := encoded.Object()
		if err != nil {
			return fmt.Appendf(nil, "%q", fmt.Sprintf("it could not be read: %v", err))
		}
		obj = decoded
	}
	switch o := obj.(type) {
	case *corev1.Secret:
		obj = maskSecret(o)
	case *corev1.SecretList:
		list := &corev1.SecretList{TypeMeta: o.TypeMeta, ListMeta: o.ListMeta}
		for i := range o.Items {
			list.Items = append(list.Items, *maskSecret(&o.Items[i]))
		}
		obj = list
	case *authenticationv1.TokenReview:
		o = o.DeepCopy()
		o.Spec.Token = masked(len(o.Spec.Token))
		obj = o
	case *unstructured.Unstructured:
		if o.GetKind() == "Secret" && o.GetAPIVersion() == "v1" {
			obj = maskUnstructured(o)
		}
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return fmt.Appendf(nil, "%q", fmt.Sprintf("%T could not be shown: %v", obj, err))
	}
	return data
}

func masked(n int) string { return fmt.Sprintf("masked, %d bytes", n) }

func maskSecret(s *corev1.Secret) *corev1.Secret {
	s = s.DeepCopy()
	for k, v := range s.Data {
		s.Data[k] = []byte(masked(len(v)))
	}
	for k, v := range s.StringData {
		s.StringData[k] = masked(len(v))
	}
	if v, ok := s.Annotations[lastApplied]; ok {
		s.Annotations[lastApplied] = masked(len(v))
	}
	return s
}

func maskUnstructured(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	for _, field := range []string{"data", "stringData"} {
		values, ok := u.Object[field].(map[string]any)
		if !ok && u.Object[field] != nil {
			u.Object[field] = masked(0)
		}
		for k, v := range values {
			s, _ := v.(string)
			n := len(s)
			if raw, err := base64.StdEncoding.DecodeString(s); err == nil && field == "data" {
				n = len(raw)
			}
			values[k] = masked(n)
		}
	}
	annotations := u.GetAnnotations()
	if v, ok := annotations[lastApplied]; ok {
		annotations[lastApplied] = masked(len(v))
		u.SetAnnotations(annotations)
	}
	return u
}
