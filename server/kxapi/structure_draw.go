package kxapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/crd"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/filter"
	"github.com/kx-apiserver/kx/store/cacher"
)

// drawing is a map in progress.
type drawing struct {
	code   *code
	caches *cacher.Caches
	keys   string
	only   string // the name of the part to draw in full; empty for all in brief
	parts  []*v1alpha1.Structure
	// fair is true with priority and fairness.
	fair bool
}

// add keeps a part. It returns the part if its details are to be drawn, too.
func (m *drawing) add(name string, spec v1alpha1.StructureSpec) *v1alpha1.Structure {
	if m.only != "" && m.only != name {
		return nil
	}
	m.parts = append(m.parts, &v1alpha1.Structure{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	if m.only == "" {
		return nil
	}
	return m.parts[0]
}

func (m *drawing) filters() {
	for i, f := range filter.Chain(m.fair) {
		info := f.Step.Info()
		m.add("filter:"+strings.TrimPrefix(info.Name, "filter."), v1alpha1.StructureSpec{
			Part: v1alpha1.PartFilter, Title: info.Title, Source: m.code.function(f.With),
			Filter: &v1alpha1.StructureFilter{Position: int32(i + 1), Step: info.Name, Upstream: info.Upstream.Symbol,
				UpstreamFile: info.Upstream.File},
		})
	}
}

func (m *drawing) chain(servers []inventory) {
	for i := range servers {
		s := &servers[i]
		part := &v1alpha1.StructureServer{Position: int32(i + 1)}
		if i+1 < len(servers) {
			part.Delegate = servers[i+1].Name
		}
		for _, one := range s.all() {
			if gv := one.Resource.GroupVersion().String(); !slices.Contains(part.GroupVersions, gv) {
				part.GroupVersions = append(part.GroupVersions, gv)
			}
			if one.Subresource == "" {
				part.Resources++
			}
		}
		source := m.code.typeOf(reflect.TypeOf(s.Handler))
		if f, ok := s.Handler.(http.HandlerFunc); ok {
			source = m.code.function(f)
		}
		title, _, _ := strings.Cut(source.Doc, ". ")
		m.add("server:"+s.Name, v1alpha1.StructureSpec{
			Part: v1alpha1.PartServer, Title: strings.TrimSuffix(title, "."), Source: source, Server: part,
		})
	}
}

// all returns the resources of a server, including the custom ones.
func (s *inventory) all() []endpoint.Installation {
	all := slices.Clone(s.installed)
	for i := range s.definitions {
		all = append(all, s.definitions[i].Versions...)
	}
	return all
}

// resources adds the resources of a server, each with its subresources.
func (m *drawing) resources(s *inventory) {
	m.drawInstallations(s.Name, "", s.installed)
	for i := range s.definitions {
		m.drawInstallations(s.Name, s.definitions[i].Definition.Name, s.definitions[i].Versions)
	}
}

func (m *drawing) drawInstallations(server, definition string, all []endpoint.Installation) {
	for i := range all {
		if all[i].Subresource != "" {
			continue
		}
		one, subresources := &all[i], subresourcesOf(all, all[i].Resource)
		d := &one.Described
		part := &v1alpha1.StructureResource{
			Group: one.Resource.Group, Version: one.Resource.Version, Resource: one.Resource.Resource, Kind: one.Kind.Kind,
			Singular: d.SingularName, Namespaced: d.Namespaced, ShortNames: d.ShortNames, Categories: d.Categories,
			Server: server, Definition: definition, Verbs: d.Verbs, Cache: m.cache(one.Resource.GroupResource()),
		}
		if !one.StoredAs.Empty() {
			part.StoredAs = kindName(one.StoredAs)
		}
		if p, ok := one.Storage.(interface{ KeyPrefix() string }); ok {
			part.Key = m.keys + p.KeyPrefix()
		}
		for _, sub := range subresources {
			part.Subresources = append(part.Subresources, sub.Subresource)
		}
		source := m.code.storage(one.Storage)
		if m.only == "" {
			source.Doc = ""
		}
		kept := m.add(resourceName(one.Resource), v1alpha1.StructureSpec{
			Part: v1alpha1.PartResource, Title: kindName(one.Kind), Source: source, Resource: part,
		})
		if kept == nil {
			continue
		}
		for _, s := range append([]*endpoint.Installation{one}, subresources...) {
			part.Storages = append(part.Storages, m.storage(s))
		}
	}
}

func subresourcesOf(all []endpoint.Installation, resource schema.GroupVersionResource) []*endpoint.Installation {
	var subresources []*endpoint.Installation
	for i := range all {
		if all[i].Resource == resource && all[i].Subresource != "" {
			subresources = append(subresources, &all[i])
		}
	}
	return subresources
}

// resourceName returns the name of a resource's part.
func resourceName(r schema.GroupVersionResource) string {
	if r.Group == "" {
		return r.Resource + "." + r.Version
	}
	return r.Resource + "." + r.Version + "." + r.Group
}

func kindName(k schema.GroupVersionKind) string { return k.GroupVersion().String() + " " + k.Kind }

func (m *drawing) cache(resource schema.GroupResource) *v1alpha1.StructureCache {
	c := m.caches.Get(resource)
	if c == nil {
		return nil
	}
	seen := c.Inspect()
	return &v1alpha1.StructureCache{Name: resource.String(), State: states[seen.State], Items: int64(seen.Items), Bytes: seen.Bytes}
}

// called maps verbs to methods of storages. A patch is an update.
var called = map[string]string{
	"get": "Get", "list": "List", "watch": "Watch", "create": "Create", "update": "Update", "patch": "Update",
	"delete": "Delete", "deletecollection": "DeleteCollection",
}

func (m *drawing) storage(one *endpoint.Installation) v1alpha1.StructureStorage {
	s := v1alpha1.StructureStorage{
		Subresource: one.Subresource, Kind: kindName(one.Kind), Type: m.code.storage(one.Storage), Strategies: m.strategies(one),
	}
	for _, route := range one.Routes {
		s.Routes = append(s.Routes, v1alpha1.StructureRoute{
			Verb: route.Verb, Method: route.Method, Path: route.Path,
			Handler: m.code.function(route.Handler), Calls: m.calls(one.Storage, route.Verb),
		})
	}
	for _, absence := range one.Absent {
		s.Absent = append(s.Absent, v1alpha1.StructureAbsence{Verb: absence.Verb, Reason: absence.Reason})
	}
	return s
}

// calls returns the function of a verb.
func (m *drawing) calls(storage rest.Storage, verb string) *v1alpha1.CodePlace {
	if made, ok := storage.(declaration); ok {
		if does := made.function(verb); does != nil {
			place := m.code.function(does)
			return &place
		}
	}
	if _, ok := storage.(rest.Connecter[http.Handler]); ok {
		return m.code.method(reflect.ValueOf(storage), "Connect")
	}
	return m.code.method(reflect.ValueOf(storage), called[verb])
}

// storeDepth limits how deep inside a storage its Store is searched.
const storeDepth = 4

// strategies returns the strategies of the storage's Store that its verbs use. Storages of subresources have their
// Store in an unexported field, so it is found by reflection, which only reads types.
func (m *drawing) strategies(one *endpoint.Installation) []v1alpha1.StructureStrategy {
	store := storeIn(reflect.ValueOf(one.Storage), storeDepth)
	if !store.IsValid() {
		return nil
	}
	var all []v1alpha1.StructureStrategy
	for _, s := range []struct{ verb, field string }{{"create", "CreateStrategy"}, {"update", "UpdateStrategy"},
		{"delete", "DeleteStrategy"}} {
		has := slices.ContainsFunc(one.Routes, func(r endpoint.Route) bool { return r.Verb == s.verb })
		if f := store.FieldByName(s.field); has && !f.IsNil() {
			all = append(all, v1alpha1.StructureStrategy{For: s.verb, Type: m.strategy(one.Storage, f.Elem().Type())})
		}
	}
	return all
}

// strategy returns the place of a type, or of the resource's declaration if the type only carries that out.
func (m *drawing) strategy(storage rest.Storage, t reflect.Type) v1alpha1.CodePlace {
	if declared, ok := storage.(interface{ Declaration() string }); ok && typeName(t) == "server/builtin.Strategy" {
		if place, ok := m.code.byName[strings.TrimPrefix(declared.Declaration(), trace.Module)]; ok {
			return place
		}
	}
	return m.code.typeOf(t)
}

// storeIn finds the registry.Store in a value.
func storeIn(v reflect.Value, depth int) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return reflect.Value{}
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || depth == 0 {
		return reflect.Value{}
	}
	if v.Type() == storeType {
		return v
	}
	for i := range v.NumField() {
		if found := storeIn(v.Field(i), depth-1); found.IsValid() {
			return found
		}
	}
	return reflect.Value{}
}

func (m *drawing) definitions(s *inventory) {
	for i := range s.definitions {
		d := &s.definitions[i]
		m.add("definition:"+d.Definition.Name, v1alpha1.StructureSpec{
			Part: v1alpha1.PartDefinition, Title: titleOf(d), Source: m.code.typeOf(reflect.TypeOf(s.Handler)), Definition: definitionOf(d),
		})
	}
}

// titleOf describes the state of a definition.
func titleOf(s *crd.ServedDefinition) string {
	d := s.Definition
	switch {
	case d.DeletionTimestamp != nil:
		return "is being deleted"
	case !apihelpers.IsCRDConditionTrue(d, apiextensionsv1.NamesAccepted):
		return "not served: its names are not accepted"
	case s.Made.IsZero():
		return "what serves it is made when the next request comes"
	}
	return "served"
}

// controllers adds the server's controllers.
func (m *drawing) controllers(all *controller.Controllers) {
	if all == nil {
		return
	}
	holder, _ := all.Holder()
	for _, c := range all.Status() {
		part := &v1alpha1.StructureController{
			State: v1alpha1.ControllerElsewhere, Holder: holder, Other: all.OtherManager(),
			Waiting: int32(c.Waiting), Working: int32(c.Working), Failing: int32(c.Failing), Error: escape.Text(c.Error),
		}
		var source v1alpha1.CodePlace
		switch {
		case c.Runs:
			part.State, source = v1alpha1.ControllerRunning, m.code.placeOf(c.Source)
		case !c.On:
			part.State = v1alpha1.ControllerOff
		}
		m.add("controller:"+c.Name, v1alpha1.StructureSpec{Part: v1alpha1.PartController, Title: c.Does, Source: source, Controller: part})
	}
}

func definitionOf(s *crd.ServedDefinition) *v1alpha1.StructureDefinition {
	spec, status := &s.Definition.Spec, &s.Definition.Status
	out := &v1alpha1.StructureDefinition{
		Group: spec.Group, Resource: spec.Names.Plural, Kind: spec.Names.Kind, Scope: string(spec.Scope),
		StoredVersions: status.StoredVersions, Versions: []v1alpha1.StructureVersion{},
	}
	for i := range spec.Versions {
		v := &spec.Versions[i]
		out.Versions = append(out.Versions, v1alpha1.StructureVersion{Name: v.Name, Served: v.Served, Storage: v.Storage,
			Deprecated: v.Deprecated})
	}
	for _, c := range status.Conditions {
		out.Conditions = append(out.Conditions, v1alpha1.StructureCondition{
			Type: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime,
		})
	}
	if s.Made.IsZero() {
		return out
	}
	out.Serving = &v1alpha1.StructureServing{
		Made: metav1.NewMicroTime(s.Made), TookMicros: s.Took.Microseconds(), Requests: s.Requests,
		StorageVersion: s.StorageVersion, Versions: []string{},
	}
	for i := range s.Versions {
		if s.Versions[i].Subresource == "" {
			out.Serving.Versions = append(out.Serving.Versions, s.Versions[i].Resource.Version)
		}
	}
	return out
}
