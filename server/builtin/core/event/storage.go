package event

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/registry"
)

// NewREST makes the storage of events, which live for ttl after their last change.
func NewREST(optsGetter backend.RESTOptionsGetter, ttl time.Duration) (*builtin.REST, error) {
	seconds := uint64(ttl / time.Second)
	return builtin.Resource{
		Plural:     "events",
		Singular:   "event",
		ShortNames: []string{"ev"},
		New:        func() runtime.Object { return &corev1.Event{} },
		NewList:    func() runtime.Object { return &corev1.EventList{} },
		Strategy:   Strategy,
		Attrs:      Attrs,
		Table:      Table,
		Tune: func(s *registry.Store) {
			s.TTLFunc = func(runtime.Object, uint64, bool) (uint64, error) { return seconds, nil }
		},
	}.NewREST(optsGetter)
}
