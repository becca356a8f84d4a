package kxapi

import (
	"context"
	"io/fs"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/crd"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/store/cacher"
)

// Server is one of the servers of a chain. Installed and Definitions are nil if the server has none.
type Server struct {
	Name    string
	Handler http.Handler
	// Installed returns its resources.
	Installed func() []endpoint.Installation
	// Definitions returns the definitions of the custom resources that it serves.
	Definitions func() []crd.ServedDefinition
}

// structure is the map of a server. It has no watch: much of it never changes, and the rest changes with every request.
//
// It keeps no list of its own: the filters come from the chain, the servers report their resources, and the source
// explains each part.
type structure struct {
	servers     func() []Server
	controllers func() *controller.Controllers
	caches      *cacher.Caches
	// keys is the prefix of all keys in etcd.
	keys string
	// fair is true with priority and fairness.
	fair bool
	code func() (*code, error)
}

// newStructure returns the map of the servers of a chain, in their order. files is their source.
func newStructure(servers func() []Server, controllers func() *controller.Controllers, caches *cacher.Caches, files fs.FS,
	keys string, fair bool) *structure {
	return &structure{servers, controllers, caches, keys, fair, sync.OnceValues(func() (*code, error) { return readCode(files) })}
}

func (s *structure) resource() *anyResource {
	return declare(resource[*v1alpha1.Structure]{
		plural: "structure", singular: "structure", objects: "parts of the structure", empty: &v1alpha1.StructureList{},
		columns: structureColumns, row: structureRow, fields: structureFields, get: s.get, all: s.all,
	})
}

// get returns one part with all details, or nil if no part has this name.
func (s *structure) get(ctx context.Context, name string) (*v1alpha1.Structure, error) {
	parts, err := s.draw(ctx, name)
	if err != nil || len(parts) == 0 {
		return nil, err
	}
	return parts[0], nil
}

// all returns the parts in brief.
func (s *structure) all(ctx context.Context) ([]*v1alpha1.Structure, error) { return s.draw(ctx, "") }

// structureFields returns the fields for field selectors.
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

// parsedCode returns the parsed source. The first callers wait until it is parsed, or until their contexts end: a
// stopping server waits for its requests.
func (s *structure) parsedCode(ctx context.Context) (*code, error) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = s.code() // the call below returns the error again
	}()
	select {
	case <-read:
		return s.code()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// draw draws one part in full, or all parts in brief if the name is empty.
func (s *structure) draw(ctx context.Context, name string) ([]*v1alpha1.Structure, error) {
	code, err := s.parsedCode(ctx)
	if err != nil {
		return nil, err
	}
	d := &drawing{code: code, caches: s.caches, keys: s.keys, only: name, fair: s.fair}
	var servers []inventory
	if s.servers != nil {
		servers = takeInventory(s.servers())
	}
	d.filters()
	d.chain(servers)
	for i := range servers {
		d.resources(&servers[i])
	}
	for i := range servers {
		d.definitions(&servers[i])
	}
	if s.controllers != nil {
		d.controllers(s.controllers())
	}
	return d.parts, nil
}

// inventory is a server with its resources and definitions at one moment.
type inventory struct {
	Server
	installed   []endpoint.Installation
	definitions []crd.ServedDefinition
}

func takeInventory(servers []Server) []inventory {
	all := make([]inventory, len(servers))
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
