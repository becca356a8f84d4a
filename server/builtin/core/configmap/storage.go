package configmap

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/backend"
)

// NewREST makes the storage of configmaps.
func NewREST(optsGetter backend.RESTOptionsGetter) (*builtin.REST, error) {
	return builtin.Resource{
		Plural:     "configmaps",
		Singular:   "configmap",
		ShortNames: []string{"cm"},
		New:        func() runtime.Object { return &corev1.ConfigMap{} },
		NewList:    func() runtime.Object { return &corev1.ConfigMapList{} },
		Strategy:   Strategy,
		Table:      Table,
	}.NewREST(optsGetter)
}
