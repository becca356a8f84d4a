package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
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
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/flow"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
	"github.com/kx-apiserver/kx/server/kubelet"
	"github.com/kx-apiserver/kx/server/kxapi"
	"github.com/kx-apiserver/kx/server/openapi"
	"github.com/kx-apiserver/kx/server/version"
)

// chain holds the servers in the order in which a request passes them. Each one delegates to the next.
type chain struct {
	*base
	// own lists the API groups of the program that embeds this server, beside the built-in ones.
	own            []endpoint.RESTStorageProvider
	home           *home
	storage        *storage
	authentication *authentication
	authorization  *authorization
	plugins        *plugins

	// aggregator passes requests for the versions of APIServices on to other servers.
	aggregator *aggregator.Server
	kube       *endpoint.GenericAPIServer
	// apiExtensions serves CustomResourceDefinitions, and customResources serves the resources that they define.
	apiExtensions   *endpoint.GenericAPIServer
	customResources *crd.Server

	// The servers share what they tell about their resources.
	discovery   *discovery.Manager
	openAPI     *openapi.Service
	equivalents runtime.EquivalentResourceRegistry
	// pieces are shared by all resources, so that they have one bound.
	pieces *responsewriters.Pieces
	// kit has what controllers need.
	kit *work.Kit
	// controllers are nil until they are started.
	controllers atomic.Pointer[controller.Controllers]
}

// CreateServerChain makes the servers from the last to the first, since each needs its delegate.
func (c *chain) CreateServerChain(context.Context) error {
	c.discovery = discovery.NewManager(c.home.address)
	c.openAPI = openapi.NewService(version.KubernetesMajor + "." + version.KubernetesMinor)
	c.equivalents = runtime.NewEquivalentResourceRegistry()
	c.pieces = responsewriters.NewPieces(c.metrics.Registry)
	enabled, err := rest.ParseRuntimeConfig(c.options.RuntimeConfig)
	if err != nil {
		return err
	}
	kubelets, err := c.openKubelets()
	if err != nil {
		return err
	}
	if err := c.createAPIExtensionsServer(endpoint.NotFoundHandler); err != nil {
		return fmt.Errorf("create the server of custom resources: %w", err)
	}
	if err := c.CreateKubeAPIServer(c.apiExtensions.Router, enabled, kubelets); err != nil {
		return fmt.Errorf("create the kube server: %w", err)
	}
	c.kit = &work.Kit{
		Storages: c.storages, Storage: c.kube.Storage, Scope: c.scope, Etcd: c.storage.below.Live,
		Gate:    &c.storage.etcd.shared.Gate,
		Decoder: c.storage.below.Decoder, Journeys: c.journeys, Metrics: c.writes, Log: c.log,
		SignClient: c.home.tls.SignClient, SigningDuration: c.options.ClusterSigningDuration,
		SecretTokens: c.authentication.secrets, ServerCA: c.home.tls.ServerCAPEM, Mapper: c.mapper, Schema: c.openAPI.Schema,
		Shared: len(c.options.Etcd.Servers)+len(c.options.Etcd.EmbeddedListen) > 0,
	}
	c.aggregator = aggregator.New(aggregator.Config{
		Delegate: c.kube.Router, Kit: c.kit, Services: c.plugins.services,
		Certificate: c.home.proxyCertificate, Discovery: c.discovery, OpenAPI: c.openAPI,
	})
	c.plugins.services.Initialize(c.kit)
	c.plugins.Initialize(c.kube.Storage, c.kinds(), c.storages, c.kube.Scope)
	c.authentication.Initialize(c.storages(), controller.MarkTokens(c.kit))
	return nil
}

// createAPIExtensionsServer makes the server of definitions, and the server of custom resources behind it. The latter
// passes all other requests to delegate.
func (c *chain) createAPIExtensionsServer(delegate http.Handler) error {
	limits := &c.options.Limits
	customResources, err := crd.New(crd.Config{
		RESTOptions:         c.storage.getter,
		Authorizer:          c.authorization.Authorizer,
		Admit:               c.plugins.Plugins,
		Discovery:           c.discovery,
		OpenAPI:             c.openAPI,
		Log:                 c.log,
		Journeys:            c.journeys,
		Writes:              c.writes,
		Gate:                &c.storage.etcd.shared.Gate,
		Metrics:             c.metrics,
		Pieces:              c.pieces,
		MinRequestTimeout:   time.Duration(limits.MinRequestTimeout) * time.Second,
		MaxRequestBodyBytes: maxRequestBodyBytes,
		MaxObjectFields:     limits.MaxObjectFields,
		Services:            c.plugins.services,
		Limits:              crdschema.Limits{Bytes: limits.MaxDefaultBytes, Steps: limits.MaxValidationSteps},
		Observe:             c.options.Observe,
		Delegate:            delegate,
	})
	if err != nil {
		return err
	}
	s := c.newGenericAPIServer(apiExtensionsName, customResources)
	c.customResources, c.apiExtensions = customResources, s
	c.onClose(func() error {
		customResources.Destroy()
		s.Destroy()
		return nil
	})
	return customResources.Install(s)
}

// CreateKubeAPIServer makes the server of the enabled built-in resources, of kx's own group, and of the groups in own.
func (c *chain) CreateKubeAPIServer(delegate http.Handler, enabled endpoint.APIResourceConfigSource, kubelets *kubelet.Client) error {
	s := c.newGenericAPIServer(kubeName, delegate)
	c.kube = s
	c.onClose(func() error { s.Destroy(); return nil })
	restStorageProviders := rest.Providers(all.Needs{
		EventTTL: c.options.EventTTL, EtcdHealth: c.storage.health, Authenticator: c.authentication.Authenticator,
		Authorizer: c.authorization.Authorizer, Rules: c.authorization.Authorizer, Namespace: c.plugins.Namespace,
		Kubelets: kubelets, Tokens: c.authentication.tokens, Storage: s.Storage,
	})
	if err := s.InstallAPIs(enabled, c.storage.getter, restStorageProviders...); err != nil {
		return err
	}
	group := kxapi.NewAPIGroupInfo(kxapi.Config{
		Journeys: c.journeys, Reasons: Reasons(), Caches: &c.storage.caches, Compact: c.storage.compact, Etcd: c.storage.below,
		Moments: c.storage.moments, Servers: c.servers, Controllers: c.controllers.Load, Authorizer: c.authorization.Authorizer,
		Source: Source(), Fair: c.options.Limits.PriorityAndFairness, Allow: c.options.Allow, Rewinds: c.rewinds(),
	})
	if err := s.InstallAPIGroup(&group); err != nil {
		return err
	}
	kubelets.SetNodes(s.Storage(corev1.SchemeGroupVersion.WithResource("nodes")))
	return c.installOwn()
}

// installOwn installs the API groups of the program that embeds this server. --runtime-config governs only the built-in
// groups.
func (c *chain) installOwn() error {
	taken := map[string]bool{kxv1alpha1.GroupName: true, apiextensionsv1.GroupName: true}
	for _, group := range all.Groups(all.Needs{}) {
		taken[group.Name()] = true
	}
	for _, provider := range c.own {
		if taken[provider.GroupName()] {
			return fmt.Errorf("the API group %q is built in: choose another name for your own", provider.GroupName())
		}
	}
	return c.kube.InstallAPIs(allEnabled{}, c.storage.getter, c.own...)
}

// allEnabled enables every resource.
type allEnabled struct{}

func (allEnabled) ResourceEnabled(schema.GroupVersionResource) bool { return true }
func (allEnabled) AnyResourceForGroupEnabled(string) bool           { return true }

// Journeys and the server's own map give the servers of the chain these names.
const aggregatorName, kubeName, apiExtensionsName, customResourcesName = "aggregator", "kube", "apiextensions", "custom-resources"

// maxRequestBodyBytes limits the body of a request. etcd's own limit is set to match.
const maxRequestBodyBytes = 3 << 20

// newGenericAPIServer makes a server without resources. All servers share discovery and OpenAPI.
func (c *chain) newGenericAPIServer(name string, delegate http.Handler) *endpoint.GenericAPIServer {
	return &endpoint.GenericAPIServer{
		Router:                     endpoint.NewRouter(name, scheme.Codecs, delegate),
		Discovery:                  c.discovery,
		OpenAPI:                    c.openAPI,
		Authorizer:                 c.authorization.Authorizer,
		Admit:                      c.plugins.Plugins,
		EquivalentResourceRegistry: c.equivalents,
		Metrics:                    c.metrics,
		Pieces:                     c.pieces,
		MinRequestTimeout:          time.Duration(c.options.Limits.MinRequestTimeout) * time.Second,
		MaxRequestBodyBytes:        maxRequestBodyBytes,
		MaxObjectFields:            c.options.Limits.MaxObjectFields,
	}
}

// servers follows the delegates from server to server and returns them in that order.
func (c *chain) servers() []kxapi.Server {
	known := []kxapi.Server{
		{Name: aggregatorName, Handler: c.aggregator},
		{Name: kubeName, Handler: c.kube.Router, Installed: c.kube.Installations},
		{Name: apiExtensionsName, Handler: c.apiExtensions.Router, Installed: c.apiExtensions.Installations},
		{Name: customResourcesName, Handler: c.customResources, Definitions: c.customResources.Structure},
	}
	var chain []kxapi.Server
	for next := http.Handler(c.aggregator); next != nil; {
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

// serves reports whether any server of the chain serves the resource.
func (c *chain) serves(info *request.RequestInfo) bool {
	return c.kube.Router.Serves(info) || c.apiExtensions.Router.Serves(info) || c.customResources.Serves(info)
}

// storages returns the storages that are installed now. The result changes with the definitions of custom resources.
func (c *chain) storages() map[schema.GroupVersionResource]corerest.Storage {
	storages := map[schema.GroupVersionResource]corerest.Storage{}
	maps.Copy(storages, c.kube.Storages())
	maps.Copy(storages, c.apiExtensions.Storages())
	maps.Copy(storages, c.customResources.Storages())
	return storages
}

// complete returns an error if the cluster has, or may have, resources that are neither in storages nor in the
// collections of other servers.
func (c *chain) complete(ctx context.Context) error {
	if err := c.customResources.Complete(ctx); err != nil {
		return err
	}
	return c.aggregator.Complete(ctx)
}

// scope returns the request scope of a resource, or of "resource/subresource" of a built-in one. It returns nil for a
// resource that this process does not serve.
func (c *chain) scope(ctx context.Context, resource schema.GroupVersionResource) (*handler.RequestScope, error) {
	for _, s := range []*endpoint.GenericAPIServer{c.kube, c.apiExtensions} {
		if scope := s.Scope(resource); scope != nil {
			return scope, nil
		}
	}
	return c.customResources.Scope(ctx, resource)
}

// kinds returns a function that finds the resource and storage of a kind. It looks up built-in kinds in a table that is
// made once, and custom ones at each call, because they come and go.
func (c *chain) kinds() func(schema.GroupVersionKind) (policy.Params, bool) {
	builtIn := map[schema.GroupVersionKind]policy.Params{}
	for resource, storage := range c.kube.Storages() {
		if kind, err := endpoint.GetResourceKind(resource.GroupVersion(), storage, scheme.Scheme); err == nil &&
			!strings.Contains(resource.Resource, "/") {
			builtIn[kind] = policy.Params{Resource: resource, Storage: storage}
		}
	}
	return func(kind schema.GroupVersionKind) (params policy.Params, found bool) {
		if params, found = builtIn[kind]; !found {
			params.Resource, params.Storage, found = c.customResources.OfKind(kind)
		}
		return params, found
	}
}

// mapper returns a mapper that also knows custom resources that were defined a moment ago.
func (c *chain) mapper(ctx context.Context) meta.RESTMapper {
	c.customResources.UpdateDiscovery(ctx)
	return c.discovery.Mapper()
}

// readiness names the storages that can't serve yet.
func (c *chain) readiness() error {
	if err := c.kube.ReadinessCheck(); err != nil {
		return err
	}
	return c.apiExtensions.ReadinessCheck()
}

// startCustomResources returns when the definitions in etcd are known and published.
func (c *chain) startCustomResources(ctx context.Context) error {
	stop, err := c.customResources.Start(ctx)
	if err == nil {
		c.onClose(func() error { stop(); return nil })
	}
	return err
}

// openKubelets makes the client of nodes and pods.
func (c *chain) openKubelets() (*kubelet.Client, error) {
	o := &c.options.Kubelet
	kubelets, err := kubelet.New(kubelet.Config{
		CertFile: o.ClientCertificate, KeyFile: o.ClientKey, CAFile: o.CertificateAuthority, AddressTypes: o.PreferredAddressTypes,
	})
	if err == nil {
		c.onClose(func() error { kubelets.Close(); return nil })
	}
	return kubelets, err
}

// startFlow starts priority and fairness, unless the options turn it off.
func (s *Server) startFlow(context.Context) (err error) {
	limits := &s.options.Limits
	if !limits.PriorityAndFairness {
		return nil
	}
	s.flow, err = flow.New(flow.Config{
		Seats: limits.MaxRequestsInFlight + limits.MaxMutatingRequestsInFlight,
		Wait:  limits.RequestTimeout / 4,
		Kit:   s.chain.kit, Sizes: s.storage.caches.Sizes, Log: s.log,
	})
	if err == nil {
		s.run(s.flow.Run)
	}
	return err
}

// startControllers starts the controllers that the options choose.
func (s *Server) startControllers(ctx context.Context) error {
	controllers := controller.Start(ctx, controller.Config{
		Kit: *s.chain.kit, Complete: s.chain.complete, Elsewhere: s.chain.aggregator.Collections,
		Controllers: s.options.Controllers, InitialObjects: s.options.InitialObjects, Process: processName(s.journeys.Process()),
	})
	s.chain.controllers.Store(controllers)
	s.onClose(func() error { controllers.Stop(); return nil })
	return nil
}

// processID distinguishes this process's journeys from those of other processes on the same etcd.
func processID() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// processName returns a readable name of this process that no other process has.
func processName(id string) string {
	host, err := os.Hostname()
	if err != nil {
		return "kx_" + id
	}
	return host + "_" + id
}
