// Command moons is an API server with a resource of its own, as docs/own-storage.md makes it: a storage that is neither in etcd
// nor in kx, behind kx's filters and handlers.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/options"
)

var version = schema.GroupVersion{Group: "sky.example.com", Version: "v1"}

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

var sky = map[string]string{"europa": "jupiter", "io": "jupiter", "titan": "saturn"}

// moons is the storage. Its methods decide which verbs the resource has.
type moons struct{}

func (moons) New() runtime.Object     { return &Moon{} }
func (moons) Destroy()                {}
func (moons) NamespaceScoped() bool   { return false }
func (moons) GetSingularName() string { return "moon" }

func (moons) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	planet, ok := sky[name]
	if !ok {
		return nil, apierrors.NewNotFound(version.WithResource("moons").GroupResource(), name)
	}
	return &Moon{ObjectMeta: metav1.ObjectMeta{Name: name}, Planet: planet}, nil
}

func main() {
	o := options.New()
	o.AddFlags(pflag.CommandLine) // those of kx serve
	pflag.Parse()
	if err := o.Validate(); err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := server.Start(ctx, o, slog.Default(), endpoint.Group{
		GroupVersion: version,
		Types:        []runtime.Object{&Moon{}},
		Storages:     map[string]rest.Storage{"moons": moons{}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("kx: serving %s  kubeconfig: %s\n", s.URL, s.Kubeconfig)
	<-ctx.Done()
	if err := s.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
}
