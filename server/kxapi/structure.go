package kxapi

import (
	"context"
	"io/fs"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/crd"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/store/cacher"
)

// Server is one of the servers of a chain. What it does not know of itself is nil.
type Server struct {
	Name    string
	Handler http.Handler
	// Installed are the resources that it has.
	Installed func() []endpoint.Installed
	// Definitions are those of custom resources, if it serves them.
	Definitions func() []crd.Serving
}

// StructureREST is the storage of the server's map. It has no watch: much of it never changes, and the rest at every request.
//
// Nothing is listed here a second time: the filters are those of the chain, the servers tell what was installed in them,
// and the source says what they are for.
type StructureREST struct {
	rest.TableConvertor
	servers func() []Server
	caches  *cacher.Caches
	// keys begins all keys in etcd.
	keys string
	code func() (*code, error)
}

var (
	_ rest.Getter               = &StructureREST{}
	_ rest.Lister               = &StructureREST{}
	_ rest.Scoper               = &StructureREST{}
	_ rest.SingularNameProvider = &StructureREST{}
)

// NewStructureREST serves the map of a server: servers are those of its chain, in their order, files is its source, and keys
// begins all of its keys in etcd.
func NewStructureREST(servers func() []Server, caches *cacher.Caches, files fs.FS, keys string) *StructureREST {
	return &StructureREST{
		TableConvertor: structureTable, servers: servers, caches: caches, keys: keys,
		code: sync.OnceValues(func() (*code, error) { return readCode(files) }),
	}
}

func (r *StructureREST) New() runtime.Object     { return &v1alpha1.Structure{} }
func (r *StructureREST) NewList() runtime.Object { return &v1alpha1.StructureList{} }
func (r *StructureREST) Destroy()                {}
func (r *StructureREST) NamespaceScoped() bool   { return false }
func (r *StructureREST) GetSingularName() string { return "structure" }

// Get returns one part with all that is known of it.
func (r *StructureREST) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	m, err := r.draw(true, func(part *v1alpha1.Structure) bool { return part.Name == name })
	if err != nil {
		return nil, err
	}
	if len(m.parts) == 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.GroupName, Resource: "structure"}, name)
	}
	return &m.parts[0], nil
}

// List returns the parts in brief.
func (r *StructureREST) List(_ context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if err := wholeList(options, "parts of the structure"); err != nil {
		return nil, err
	}
	m, err := r.draw(false, func(part *v1alpha1.Structure) bool { return picks(options, structureFields(part)) })
	if err != nil {
		return nil, err
	}
	return &v1alpha1.StructureList{Items: m.parts}, nil
}

// structureFields are the fields that field selectors can ask about.
func structureFields(s *v1alpha1.Structure) fields.Set {
	set := fields.Set{"metadata.name": s.Name, "spec.part": string(s.Spec.Part), "spec.group": "", "spec.resource": "", "spec.server": ""}
	switch r, d := s.Spec.Resource, s.Spec.Definition; {
	case r != nil:
		set["spec.group"], set["spec.resource"], set["spec.server"] = r.Group, r.Resource, r.Server
	case d != nil:
		set["spec.group"], set["spec.resource"] = d.Group, d.Resource
	}
	return set
}

// draw draws the parts that are wanted, whole or as lists have them.
func (r *StructureREST) draw(whole bool, wanted func(*v1alpha1.Structure) bool) (*structure, error) {
	code, err := r.code()
	if err != nil {
		return nil, err
	}
	m := &structure{code: code, caches: r.caches, keys: r.keys, whole: whole, wanted: wanted, parts: []v1alpha1.Structure{}}
	var servers []served
	if r.servers != nil {
		servers = ask(r.servers())
	}
	m.filters()
	m.chain(servers)
	for i := range servers {
		m.resources(&servers[i])
	}
	for i := range servers {
		m.definitions(&servers[i])
	}
	return m, nil
}

// served is a server with what it has at one moment.
type served struct {
	Server
	installed   []endpoint.Installed
	definitions []crd.Serving
}

func ask(servers []Server) []served {
	all := make([]served, len(servers))
	for i, s := range servers {
		all[i].Server = s
		if s.Installed != nil {
			all[i].installed = s.Installed()
		}
		if s.Definitions != nil {
			all[i].definitions = s.Definitions()
		}
	}
	return all
}
