package serviceaccount

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/registry"
)

// NewREST makes the storage of serviceaccounts.
func NewREST(optsGetter backend.RESTOptionsGetter) (*builtin.REST, error) {
	return builtin.Resource{
		Plural:     "serviceaccounts",
		Singular:   "serviceaccount",
		ShortNames: []string{"sa"},
		New:        func() runtime.Object { return &corev1.ServiceAccount{} },
		NewList:    func() runtime.Object { return &corev1.ServiceAccountList{} },
		Strategy:   Strategy,
		Table:      Table,
		Tune:       func(s *registry.Store) { s.ReturnDeletedObject = true },
	}.NewREST(optsGetter)
}
