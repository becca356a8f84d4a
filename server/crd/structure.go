package crd

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/crd/lister"
	"github.com/kx-apiserver/kx/server/endpoint"
)

// ServedDefinition is a definition with the present state of its serving.
type ServedDefinition struct {
	// Definition must not be changed.
	Definition *lister.Definition
	// Made is the creation time of its crdInfo, and Took the duration. Both are zero if there is none: the next
	// request creates one.
	Made time.Time
	Took time.Duration
	// Requests counts the requests that use it, including watches.
	Requests int64
	// StorageVersion is the version in which objects are stored.
	StorageVersion string
	// Versions holds the served versions in the order of the definition.
	Versions []endpoint.Installation
	// By is the journey of the request that created it, empty if none did. Cause is the write of the definition
	// that it was created from.
	By    string
	Cause trace.Cause

	notes *trace.Notes
}

// Way adds the steps that led to serving one version, without those for other versions.
func (s *ServedDefinition) Way(w *trace.Way, version string) {
	others := func(id steps.ID, subject string) bool {
		return (id == steps.InstallSchema || id == steps.InstallServed) && subject != version
	}
	before := func(id steps.ID, subject string) bool { return id == steps.InstallServed || others(id, subject) }
	w.AddBut(s.notes, before)
	for i := range s.Versions {
		if v := &s.Versions[i]; v.Resource.Version == version && v.Subresource == "" {
			v.AddCreation(w)
		}
	}
	w.AddBut(s.notes, others)
	for i := range w.Steps {
		if w.Steps[i].ID == steps.InstallServed {
			w.Steps[i].Attrs = s.routesOf(version)
		}
	}
}

// routesOf returns the routes of a version and its subresources, by verb.
func (s *ServedDefinition) routesOf(version string) (attrs []trace.Attr) {
	for i := range s.Versions {
		v := &s.Versions[i]
		if v.Resource.Version != version {
			continue
		}
		for _, route := range v.Routes {
			attrs = append(attrs,
				trace.Attr{Name: strings.TrimSuffix(route.Verb+"/"+v.Subresource, "/"), Text: route.Method + " " + route.Path})
		}
	}
	return attrs
}

// Structure returns all definitions with the state of their serving, sorted by name.
func (s *Server) Structure() []ServedDefinition {
	current := *s.current.Load()
	definitions := s.lister.List()
	all := make([]ServedDefinition, 0, len(definitions))
	for _, crd := range definitions {
		serving := ServedDefinition{Definition: crd}
		if info := current[crd.Name]; info != nil && info.serves(crd) {
			info.describe(&serving)
		}
		all = append(all, serving)
	}
	slices.SortFunc(all, func(a, b ServedDefinition) int { return strings.Compare(a.Definition.Name, b.Definition.Name) })
	return all
}

func (i *crdInfo) describe(serving *ServedDefinition) {
	serving.Made, serving.Took, serving.By, serving.notes = i.made, i.took, i.by, i.notes
	serving.Cause = i.cause
	serving.Requests = i.requests.count()
	serving.StorageVersion = i.resource.StorageVersion
	for k := range serving.Definition.Spec.Versions {
		if name := serving.Definition.Spec.Versions[k].Name; i.versions[name] != nil {
			serving.Versions = append(serving.Versions, i.installations(name)...)
		}
	}
}

// installations returns the accounts of one version and its subresources.
func (i *crdInfo) installations(name string) []endpoint.Installation {
	v, made := i.resource.Versions[name], i.versions[name]
	all := []endpoint.Installation{i.installation(name, "", v.Storage.CustomResource, made.resource)}
	if made.status != nil {
		all = append(all, i.installation(name, "status", v.Storage.Status, made.status))
	}
	if made.scale != nil {
		scale := i.installation(name, "scale", v.Storage.Scale, made.scale)
		scale.Kind = scaleKind
		all = append(all, scale)
	}
	return all
}

func (i *crdInfo) installation(
	version, subresource string, storage rest.Storage, handlers map[string]http.HandlerFunc,
) endpoint.Installation {
	crd := i.crd.Load()
	names := &crd.Status.AcceptedNames
	gv := schema.GroupVersion{Group: crd.Spec.Group, Version: version}
	stored := schema.GroupVersion{Group: crd.Spec.Group, Version: i.resource.StorageVersion}
	one := endpoint.Installation{
		Resource: gv.WithResource(names.Plural), Subresource: subresource, Kind: gv.WithKind(names.Kind),
		StoredAs: stored.WithKind(names.Kind), Storage: storage,
	}
	one.Described.Namespaced = crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	one.Described.Verbs = slices.Sorted(maps.Keys(handlers))
	if subresource == "" {
		one.Described.SingularName, one.Described.ShortNames, one.Described.Categories = names.Singular, names.ShortNames, names.Categories
	}
	one.Routes, one.Absent = endpoint.RoutesOf(one.Resource, subresource, one.Described.Namespaced, storage, handlers)
	return one
}
