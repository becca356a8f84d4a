package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	kxv1alpha1 "github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	corerest "github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/admission/policy"
	"github.com/kx-apiserver/kx/server/aggregator"
	"github.com/kx-apiserver/kx/server/builtin/all"
	"github.com/kx-apiserver/kx/server/builtin/rest"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/crd"
	crdschema "github.com/kx-apiserver/kx/server/crd/schema"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/kxapi"
)

// Chain holds the servers in the order in which a request passes them. Each one delegates to the next.
type Chain struct {
	// Aggregator passes requests for the versions of APIServices on to other servers.
	Aggregator *aggregator.Server
	Kube       *endpoint.GenericAPIServer
	// APIExtensions serves CustomResourceDefinitions, and CustomResources serves the resources that they define.
	APIExtensions   *endpoint.GenericAPIServer
	CustomResources *crd.Server
}

// CreateServerChain makes the servers from the last to the first, since each needs its delegate. It does not change c.
func CreateServerChain(c *Config) (*Chain, error) {
	chain := &Chain{}
	apiExtensions, customResources, err := createAPIExtensionsServer(c, endpoint.NotFoundHandler)
	if err != nil {
		return nil, fmt.Errorf("create the server of custom resources: %w", err)
	}
	kube, err := CreateKubeAPIServer(c, apiExtensions.Router, chain.servers)
	if err != nil {
		customResources.Destroy()
		apiExtensions.Destroy()
		return nil, fmt.Errorf("create the kube server: %w", err)
	}
	if nodes, ok := kube.Storage(corev1.SchemeGroupVersion.WithResource("nodes")).(corerest.Getter); ok {
		c.Kubelets.SetNodes(nodes)
	}
	chain.Kube, chain.APIExtensions, chain.CustomResources = kube, apiExtensions, customResources
	kit := &work.Kit{Storages: chain.Storages, Journeys: c.Journeys, Metrics: c.Writes, Log: c.Logger}
	chain.Aggregator = aggregator.New(aggregator.Config{
		Delegate: kube.Router, Kit: kit, Services: c.Services,
		Certificate: c.proxyCertificate, Discovery: c.Discovery, OpenAPI: c.OpenAPI,
	})
	c.Services.Initialize(kit)
	c.Admission.Initialize(kube.Storage, chain.kinds(), chain.Storages, kube.Scope)
	c.Authenticator.Initialize(chain.Storages(), controller.MarkTokens(kit))
	return chain, nil
}

// createAPIExtensionsServer makes the server of definitions, and the server of custom resources behind it. The latter
// passes all other requests to delegate.
func createAPIExtensionsServer(c *Config, delegate http.Handler) (*endpoint.GenericAPIServer, *crd.Server, error) {
	customResources, err := crd.New(crd.Config{
		RESTOptions:         c.RESTOptions,
		Authorizer:          c.Authorizer,
		Admit:               c.Admission,
		Discovery:           c.Discovery,
		OpenAPI:             c.OpenAPI,
		Log:                 c.Logger,
		Journeys:            c.Journeys,
		Writes:              c.Writes,
		Metrics:             c.Metrics,
		MinRequestTimeout:   c.MinRequestTimeout,
		MaxRequestBodyBytes: maxRequestBodyBytes,
		MaxObjectFields:     c.Options.Limits.MaxObjectFields,
		Services:            c.Services,
		Limits: crdschema.Limits{
			Bytes: c.Options.Limits.MaxDefaultBytes, Steps: c.Options.Limits.MaxValidationSteps,
		},
		Delegate: delegate,
	})
	if err != nil {
		return nil, nil, err
	}
	s := c.newGenericAPIServer(apiExtensionsName, customResources)
	if err := customResources.Install(s); err != nil {
		customResources.Destroy()
		s.Destroy()
		return nil, nil, err
	}
	return s, customResources, nil
}

// CreateKubeAPIServer makes the server of the built-in resources and of kx's own group. That group calls servers to
// list the chain, which is complete before the first request.
func CreateKubeAPIServer(c *Config, delegate http.Handler, servers func() []kxapi.Server) (*endpoint.GenericAPIServer, error) {
	s := c.newGenericAPIServer(kubeName, delegate)
	restStorageProviders := rest.Providers(all.Needs{
		EventTTL: c.EventTTL, EtcdHealth: c.EtcdHealth, Authenticator: c.Authenticator, Authorizer: c.Authorizer, Rules: c.Authorizer,
		Namespace: c.Admission.Namespace,
		Kubelets:  c.Kubelets, Tokens: c.Tokens, Storage: s.Storage,
	})
	err := s.InstallAPIs(c.APIResources, c.RESTOptions, restStorageProviders...)
	if err == nil {
		group := kxapi.NewAPIGroupInfo(kxapi.Config{
			Journeys: c.Journeys, Caches: &c.Caches, Compact: c.Compact, Etcd: c.Etcd, Moments: c.Moments, Servers: servers,
			Controllers: c.Controllers.Load, Authorizer: c.Authorizer, Source: Source(), Fair: c.Options.Limits.PriorityAndFairness,
			Allow: c.Options.Allow,
		})
		err = s.InstallAPIGroup(&group)
	}
	if err == nil {
		err = c.installOwn(s)
	}
	if err != nil {
		s.Destroy()
		return nil, err
	}
	return s, nil
}

// installOwn installs the API groups of the program that embeds this server. --runtime-config governs only the built-in
// groups.
func (c *Config) installOwn(s *endpoint.GenericAPIServer) error {
	taken := map[string]bool{kxv1alpha1.GroupName: true, apiextensionsv1.GroupName: true}
	for _, group := range all.Groups(all.Needs{}) {
		taken[group.Name()] = true
	}
	for _, provider := range c.Own {
		if taken[provider.GroupName()] {
			return fmt.Errorf("the API group %q is built in: choose another name for your own", provider.GroupName())
		}
	}
	return s.InstallAPIs(everything{}, c.RESTOptions, c.Own...)
}

// everything enables every resource.
type everything struct{}

func (everything) ResourceEnabled(schema.GroupVersionResource) bool { return true }
func (everything) AnyResourceForGroupEnabled(string) bool           { return true }

// Journeys and the server's own map give the servers of the chain these names.
const aggregatorName, kubeName, apiExtensionsName, customResourcesName = "aggregator", "kube", "apiextensions", "custom-resources"

// newGenericAPIServer makes a server without resources. All servers share discovery and OpenAPI.
func (c *Config) newGenericAPIServer(name string, delegate http.Handler) *endpoint.GenericAPIServer {
	return &endpoint.GenericAPIServer{
		Router:                     endpoint.NewRouter(name, scheme.Codecs, delegate),
		Discovery:                  c.Discovery,
		OpenAPI:                    c.OpenAPI,
		Authorizer:                 c.Authorizer,
		Admit:                      c.Admission,
		EquivalentResourceRegistry: c.equivalents,
		Metrics:                    c.Metrics,
		MinRequestTimeout:          c.MinRequestTimeout,
		MaxRequestBodyBytes:        maxRequestBodyBytes,
		MaxObjectFields:            c.Options.Limits.MaxObjectFields,
	}
}

// servers follows the delegates from server to server and returns them in that order.
func (c *Chain) servers() []kxapi.Server {
	known := []kxapi.Server{
		{Name: aggregatorName, Handler: c.Aggregator},
		{Name: kubeName, Handler: c.Kube.Router, Installed: c.Kube.Installed},
		{Name: apiExtensionsName, Handler: c.APIExtensions.Router, Installed: c.APIExtensions.Installed},
		{Name: customResourcesName, Handler: c.CustomResources, Definitions: c.CustomResources.Structure},
	}
	var chain []kxapi.Server
	for next := http.Handler(c.Aggregator); next != nil; {
		server := kxapi.Server{Name: "not-found", Handler: next}
		for _, k := range known {
			if k.Handler == next {
				server = k
			}
		}
		chain = append(chain, server)
		delegator, ok := next.(interface{ Delegate() http.Handler })
		if !ok {
			break
		}
		next = delegator.Delegate()
	}
	return chain
}

// Serves reports whether any server of the chain serves the resource.
func (c *Chain) Serves(info *request.RequestInfo) bool {
	return c.Kube.Router.Serves(info) || c.APIExtensions.Router.Serves(info) || c.CustomResources.Serves(info)
}

// Storages returns the storages that are installed now. The result changes with the definitions of custom resources.
func (c *Chain) Storages() map[schema.GroupVersionResource]corerest.Storage {
	storages := map[schema.GroupVersionResource]corerest.Storage{}
	maps.Copy(storages, c.Kube.Storages())
	maps.Copy(storages, c.APIExtensions.Storages())
	maps.Copy(storages, c.CustomResources.Storages())
	return storages
}

// Complete returns an error if the cluster has, or may have, resources that are neither in Storages nor in the
// collections of other servers.
func (c *Chain) Complete(ctx context.Context) error {
	if err := c.CustomResources.Complete(ctx); err != nil {
		return err
	}
	return c.Aggregator.Complete(ctx)
}

// Scope returns the request scope of a resource, or of "resource/subresource" of a built-in one. It returns nil for a
// resource that this process does not serve.
func (c *Chain) Scope(ctx context.Context, resource schema.GroupVersionResource) (*handler.RequestScope, error) {
	for _, s := range []*endpoint.GenericAPIServer{c.Kube, c.APIExtensions} {
		if scope := s.Scope(resource); scope != nil {
			return scope, nil
		}
	}
	return c.CustomResources.Scope(ctx, resource)
}

// kinds returns a function that finds the resource and storage of a kind. It looks up built-in kinds in a table that is
// made once, and custom ones at each call, because they come and go.
func (c *Chain) kinds() func(schema.GroupVersionKind) (policy.Params, bool) {
	builtIn := map[schema.GroupVersionKind]policy.Params{}
	for resource, storage := range c.Kube.Storages() {
		if kind, err := endpoint.GetResourceKind(resource.GroupVersion(), storage, scheme.Scheme); err == nil &&
			!strings.Contains(resource.Resource, "/") {
			builtIn[kind] = policy.Params{Resource: resource, Storage: storage}
		}
	}
	return func(kind schema.GroupVersionKind) (params policy.Params, found bool) {
		if params, found = builtIn[kind]; !found {
			params.Resource, params.Storage, found = c.CustomResources.OfKind(kind)
		}
		return params, found
	}
}

// mapper returns a mapper that also knows custom resources that were defined a moment ago.
func (c *Chain) mapper(ctx context.Context) meta.RESTMapper {
	c.CustomResources.UpdateDiscovery(ctx)
	return c.Kube.Discovery.Mapper()
}

// Destroy releases the storages' resources.
func (c *Chain) Destroy() {
	c.Kube.Destroy()
	c.CustomResources.Destroy()
	c.APIExtensions.Destroy()
}

// ReadinessCheck names the storages that can't serve yet.
func (c *Chain) ReadinessCheck() error {
	if err := c.Kube.ReadinessCheck(); err != nil {
		return err
	}
	return c.APIExtensions.ReadinessCheck()
}
