package customresource

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/coverage"
	"github.com/kx-apiserver/kx/server/crd/conversion"
	"github.com/kx-apiserver/kx/server/crd/schema"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/registry"
)

// Config configures a Resource.
type Config struct {
	// Definition has accepted names. It is read, now and later, and never changed.
	Definition *apiextensionsv1.CustomResourceDefinition
	// Options is the storage configuration. Its codec is not used: this package has its own.
	Options backend.RESTOptionsGetter
	// Conversion creates the converter between the definition's versions.
	Conversion *conversion.Factory
	// Limits limits the cost of one object.
	Limits schema.Limits
	// Observe (optional) is called after each evaluation of a rule.
	Observe coverage.Observer
	// Notes (optional) records the steps that create the Resource; Note is the step that calls them.
	Notes *trace.Notes
	Note  trace.StepNote
}

// Resource serves the objects of one CRD. Its fields must not be changed.
type Resource struct {
	// Versions holds the served versions and the storage version, by name.
	Versions map[string]*Version
	// StorageVersion is the name of the version in which objects are written.
	StorageVersion string

	definition *apiextensionsv1.CustomResourceDefinition
	converter  *conversion.Converter
	schemas    map[string]*schema.Schema
	resource   apischema.GroupResource
	store      *registry.Store
}

// Version is a custom resource in one version.
type Version struct {
	Kind     apischema.GroupVersionKind
	ListKind apischema.GroupVersionKind
	// Served means that clients may use it; otherwise it is here only as the storage version.
	Served bool
	// DeprecationWarning is the warning for clients; "" if the version is not deprecated.
	DeprecationWarning string

	Storage CustomResourceStorage
	Schema  *schema.Schema

	Serializer runtime.NegotiatedSerializer
	Creater    runtime.ObjectCreater
	Typer      runtime.ObjectTyper
	Defaulter  runtime.ObjectDefaulter
	// Convertor copies its input, UnsafeConvertor may return it.
	Convertor       runtime.ObjectConvertor
	UnsafeConvertor runtime.ObjectConvertor

	resource *Resource
	columns  *columns
}

// New creates the Resource of a definition, with its storage.
func New(c Config) (*Resource, error) {
	r, err := newResource(c)
	if err != nil {
		return nil, fmt.Errorf("serve CustomResourceDefinition %s: %w", c.Definition.Name, err)
	}
	return r, nil
}

func newResource(c Config) (*Resource, error) {
	crd := c.Definition
	names := &crd.Status.AcceptedNames
	if names.Plural == "" || names.Singular == "" || names.Kind == "" || names.ListKind == "" {
		return nil, errors.New("status.acceptedNames must have a plural, a singular, a kind and a listKind")
	}
	storageVersion, err := apihelpers.GetCRDStorageVersion(crd)
	if err != nil {
		return nil, err
	}
	r := &Resource{
		Versions:       make(map[string]*Version, len(crd.Spec.Versions)),
		StorageVersion: storageVersion,
		definition:     crd,
		schemas:        make(map[string]*schema.Schema, len(crd.Spec.Versions)),
		resource:       apischema.GroupResource{Group: crd.Spec.Group, Resource: names.Plural},
	}
	if r.converter, err = c.Conversion.NewConverter(crd); err != nil {
		return nil, err
	}
	// Objects may be stored in versions that are no longer served.
	for i := range crd.Spec.Versions {
		name := crd.Spec.Versions[i].Name
		if r.schemas[name], err = compile(c, name); err != nil {
			return nil, err
		}
	}
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Served || v.Storage {
			r.Versions[v.Name] = r.newVersion(v)
		}
	}
	if err := r.makeStorages(c); err != nil {
		return nil, err
	}
	return r, nil
}

var schemaCompiled = trace.Because("schema-compiled",
	"only its structure: validators and rules are compiled by the first write that needs them",
	"只编译结构：校验器和规则由第一个需要它们的写请求编译")

func compile(c Config, version string) (_ *schema.Schema, err error) {
	note := trace.Note(c.Notes, steps.InstallSchema, version)
	defer note.End(&err)
	note.Why(schemaCompiled)
	s, err := schema.Compile(c.Definition, version, c.Limits)
	if err == nil && c.Observe != nil {
		s.Observe(c.Observe, c.Definition)
	}
	return s, err
}

// newVersion returns a version without its storage.
func (r *Resource) newVersion(v *apiextensionsv1.CustomResourceDefinitionVersion) *Version {
	names := &r.definition.Status.AcceptedNames
	gv := apischema.GroupVersion{Group: r.resource.Group, Version: v.Name}
	convertor := r.converter.WithContext(context.Background())
	version := &Version{
		Kind:            gv.WithKind(names.Kind),
		ListKind:        gv.WithKind(names.ListKind),
		Served:          v.Served,
		Schema:          r.schemas[v.Name],
		Serializer:      &serializer{defaulter: defaulter{r.schemas, r.groupKind()}, own: r.schemas[v.Name]},
		Creater:         creater{},
		Typer:           typer{},
		Defaulter:       defaulter{schemas: r.schemas, kind: r.groupKind()},
		Convertor:       convertor,
		UnsafeConvertor: convertor,
		resource:        r,
		columns:         newColumns(v.AdditionalPrinterColumns),
	}
	if v.Deprecated {
		version.DeprecationWarning = deprecationWarning(r.definition, v)
	}
	return version
}

func (r *Resource) groupKind() apischema.GroupKind {
	return apischema.GroupKind{Group: r.resource.Group, Kind: r.definition.Status.AcceptedNames.Kind}
}

func (r *Resource) namespaced() bool {
	return r.definition.Spec.Scope == apiextensionsv1.NamespaceScoped
}

// Destroy ends the storage, and with it all watches. Pending requests fail.
func (r *Resource) Destroy() { r.store.Destroy() }
