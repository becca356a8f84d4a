package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/registry"
)

// PodStorage is pods and pods/status.
type PodStorage struct {
	Pod    *REST
	Status *StatusREST
}

// REST serves pods.
type REST struct{ *builtin.REST }

// StatusREST serves pods/status.
type StatusREST struct{ *builtin.SubresourceREST }

// NewStorage makes the storage of pods.
func NewStorage(optsGetter backend.RESTOptionsGetter) (PodStorage, error) {
	r, err := builtin.Resource{
		Plural: "pods", Singular: "pod", ShortNames: []string{"po"}, Categories: []string{"all"},
		New:      func() runtime.Object { return &corev1.Pod{} },
		NewList:  func() runtime.Object { return &corev1.PodList{} },
		Strategy: Strategy,
		Attrs:    Attrs,
		Table:    Table,
		Tune:     func(s *registry.Store) { s.ReturnDeletedObject = true },
	}.NewREST(optsGetter)
	if err != nil {
		return PodStorage{}, err
	}
	return PodStorage{Pod: &REST{r}, Status: &StatusREST{r.Subresource(StatusStrategy)}}, nil
}
