package server

import (
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission"
	"github.com/kx-apiserver/kx/server/admission/policy"
	"github.com/kx-apiserver/kx/server/admission/webhook"
	"github.com/kx-apiserver/kx/server/aggregator"
	"github.com/kx-apiserver/kx/server/authn"
	"github.com/kx-apiserver/kx/server/authn/bearer"
	"github.com/kx-apiserver/kx/server/authn/issuer"
	"github.com/kx-apiserver/kx/server/authz"
	"github.com/kx-apiserver/kx/server/builtin/core"
	"github.com/kx-apiserver/kx/server/builtin/core/pod"
	"github.com/kx-apiserver/kx/server/builtin/rbac"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/controller/garbage"
	"github.com/kx-apiserver/kx/server/controller/namespace"
	"github.com/kx-apiserver/kx/server/controller/repair"
	"github.com/kx-apiserver/kx/server/controller/resourcequota"
	"github.com/kx-apiserver/kx/server/crd"
	crdcontroller "github.com/kx-apiserver/kx/server/crd/controller"
	"github.com/kx-apiserver/kx/server/crd/conversion"
	"github.com/kx-apiserver/kx/server/crd/customresource"
	"github.com/kx-apiserver/kx/server/crd/schema"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/filter"
	"github.com/kx-apiserver/kx/server/flow"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
	servermetrics "github.com/kx-apiserver/kx/server/metrics"
	"github.com/kx-apiserver/kx/server/serviceaccount"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/cacher"
	"github.com/kx-apiserver/kx/store/etcd3"
	etcd3metrics "github.com/kx-apiserver/kx/store/etcd3/metrics"
	"github.com/kx-apiserver/kx/store/registry"
)

// Reasons holds why the steps of a server went the way they did: what each package lists of its own.
func Reasons() trace.Catalogue {
	return trace.NewCatalogue(
		trace.Reasons(),
		filter.Reasons(),
		authn.Reasons(),
		bearer.Reasons(),
		issuer.Reasons(),
		flow.Reasons(),
		authz.Reasons(),
		servermetrics.Reasons(),
		admission.Reasons(),
		webhook.Reasons(),
		policy.Reasons(),
		endpoint.Reasons(),
		aggregator.Reasons(),
		handler.Reasons(),
		negotiation.Reasons(),
		crd.Reasons(),
		conversion.Reasons(),
		schema.Reasons(),
		pod.Reasons(),
		serviceaccount.Reasons(),
		core.Reasons(),
		registry.Reasons(),
		cacher.Reasons(),
		etcd3.Reasons(),
		rbac.Reasons(),
		etcd3metrics.Reasons(),
		customresource.Reasons(),
		backend.Reasons(),
		factory.Reasons(),
		crdcontroller.Reasons(),
		namespace.Reasons(),
		garbage.Reasons(),
		controller.Reasons(),
		resourcequota.Reasons(),
		repair.Reasons(),
	)
}
