package main

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/endpoint"
)

var version = schema.GroupVersion{Group: "sky.example.com", Version: "v1"}

var group = endpoint.Group{GroupVersion: version, Storages: map[string]rest.Storage{
	"moons": &moons{planets: map[string]string{"io": "jupiter", "titan": "saturn"}},
}}

// Moon is the kind.
type Moon struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Planet            string `json:"planet"`
}

func (m *Moon) DeepCopyObject() runtime.Object {
	c := *m
	m.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// moons is the storage: what methods it has decides which verbs the resource has.
type moons struct {
	mu      sync.Mutex
	planets map[string]string
}

func (*moons) New() runtime.Object     { return &Moon{} }
func (*moons) Destroy()                {}
func (*moons) NamespaceScoped() bool   { return false }
func (*moons) GetSingularName() string { return "moon" }

func (s *moons) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	planet, ok := s.planets[name]
	if !ok {
		return nil, apierrors.NewNotFound(version.WithResource("moons").GroupResource(), name)
	}
	return &Moon{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("moon-" + name)}, Planet: planet}, nil
}
