package controller

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/crd/definition"
	"github.com/kx-apiserver/kx/server/crd/lister"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
)

const name = "ones.g.example.com"

// store puts a definition with accepted names into etcd.
func store(t *testing.T, crds *definition.REST, status *definition.StatusREST) {
	t.Helper()
	d := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "g.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "ones", Kind: "One"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
	definition.Scheme.Default(d)
	in := &apiextensions.CustomResourceDefinition{}
	if err := definition.Scheme.Convert(d, in, nil); err != nil {
		t.Fatal(err)
	}
	ctx := builtintest.Context(t, "")
	if _, err := crds.Create(ctx, in, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	accept := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		d := old.DeepCopyObject().(*apiextensions.CustomResourceDefinition)
		d.Status.AcceptedNames = d.Spec.Names
		apiextensions.SetCRDCondition(d, apiextensions.CustomResourceDefinitionCondition{
			Type: apiextensions.NamesAccepted, Status: apiextensions.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found"})
		return d, nil
	}
	_, _, err := status.Update(ctx, name, rest.DefaultUpdatedObjectInfo(nil, accept), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAheadOfTheWatch has a definition that is known because a request asked etcd for it, while the watch has not told of
// anything yet: others that hold its names may be among what it has not told.
func TestAheadOfTheWatch(t *testing.T) {
	crds, status, err := definition.NewREST(builtintest.NewEtcd(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(crds.Destroy)
	store(t, crds, status)
	l := lister.New(crds)
	c := newEstablishing(l, statusWriter{Storage: status}.forController("establishing"), slog.New(slog.DiscardHandler))
	d, err := l.GetFresh(t.Context(), name)
	if err != nil || l.Get(name) != d || !IsEstablishingDue(d) {
		t.Fatalf("%+v, %v", d, err)
	}
	if failures := c.batch(t.Context(), []string{name}); !errors.Is(failures[name], errLater) {
		t.Errorf("it ends with %v", failures)
	}

	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { defer close(stopped); l.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-stopped })
	if err := l.WaitSynced(t.Context()); err != nil {
		t.Fatal(err)
	}
	if failures := c.batch(t.Context(), []string{name}); len(failures) > 0 {
		t.Errorf("it ends with %v", failures)
	}
	if d, err = l.GetFresh(t.Context(), name); err != nil || !apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established) {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestChangedMeanwhile writes on a state that is not there any more.
func TestChangedMeanwhile(t *testing.T) {
	crds, status, err := definition.NewREST(builtintest.NewEtcd(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(crds.Destroy)
	store(t, crds, status)
	l := lister.New(crds)
	seen, err := l.GetFresh(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	s := statusWriter{Storage: status}.forController("establishing")
	establish := func(d *Definition) { apihelpers.SetCRDCondition(d, established) }
	now, err := s.Update(t.Context(), seen, establish)
	if err != nil || now.ResourceVersion == seen.ResourceVersion || len(seen.Status.Conditions) != 1 {
		t.Fatalf("%+v, %v", now, err)
	}
	if _, err := s.Update(t.Context(), seen, establish); !errors.Is(err, errChanged) {
		t.Errorf("on an old state: %v", err)
	}
	if _, err := s.Update(t.Context(), now, func(d *Definition) { d.Status.Conditions = nil }); err != nil {
		t.Errorf("on what was written: %v", err)
	}
	gone := *seen
	gone.Name = "twos.g.example.com"
	if _, err := s.Update(t.Context(), &gone, establish); !errors.Is(err, errChanged) {
		t.Errorf("on what is not there: %v", err)
	}
}
