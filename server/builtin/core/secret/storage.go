package secret

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/backend"
)

// NewREST makes the storage of secrets.
func NewREST(optsGetter backend.RESTOptionsGetter) (*builtin.REST, error) {
	return builtin.Resource{
		Plural:   "secrets",
		Singular: "secret",
		New:      func() runtime.Object { return &corev1.Secret{} },
		NewList:  func() runtime.Object { return &corev1.SecretList{} },
		Strategy: Strategy,
		Attrs:    Attrs,
		Table:    Table,
	}.NewREST(optsGetter)
}
