package endpoint

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
	"github.com/kx-apiserver/kx/server/metrics"
	"github.com/kx-apiserver/kx/server/openapi"
)

// APIGroupVersion is a version of a group, with everything that its handlers need.
type APIGroupVersion struct {
	GroupVersion schema.GroupVersion
	// Storage has a storage for every "resource" and "resource/subresource".
	Storage map[string]rest.Storage

	Serializer      runtime.NegotiatedSerializer
	ParameterCodec  runtime.ParameterCodec
	Typer           runtime.ObjectTyper
	Creater         runtime.ObjectCreater
	Convertor       runtime.ObjectConvertor
	UnsafeConvertor runtime.ObjectConvertor
	Defaulter       runtime.ObjectDefaulter

	EquivalentResourceRegistry runtime.EquivalentResourceRegistry

	Authorizer authorizer.UnconditionalAuthorizer
	Admit      admission.Interface

	// Notes (optional) records the steps of the installation.
	Notes *trace.Notes

	Metrics             *metrics.Metrics
	Pieces              *responsewriters.Pieces
	MinRequestTimeout   time.Duration
	MaxRequestBodyBytes int64
	MaxObjectFields     int
}

var storagesInOrder = trace.Because("storages-in-order",
	"{storages} storages, in the order of their names",
	"{storages} 个存储，按名称排序")

// InstallREST adds the storages' routes to router. It returns their descriptions and the record of their installation.
func (g *APIGroupVersion) InstallREST(router *Router) (_ []openapi.Resource, _ []Installation, err error) {
	note := trace.Note(g.Notes, steps.InstallVersion, g.GroupVersion.String())
	defer note.End(&err)
	note.Why(storagesInOrder, int64(len(g.Storage)))
	installer := &APIInstaller{group: g, note: note, paths: map[resourceKey]*paths{}}
	resources, err := installer.Install()
	if err != nil {
		return nil, nil, err
	}
	router.install(g.GroupVersion, installer.paths)
	return resources, installer.installed, nil
}
