package server

import (
	"context"
	"crypto/rand"
	cryptotls "crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission"
	"github.com/kx-apiserver/kx/server/admission/kept"
	"github.com/kx-apiserver/kx/server/audit"
	"github.com/kx-apiserver/kx/server/authn"
	"github.com/kx-apiserver/kx/server/authn/issuer"
	"github.com/kx-apiserver/kx/server/authz"
	"github.com/kx-apiserver/kx/server/authz/rbac"
	"github.com/kx-apiserver/kx/server/authz/roles"
	"github.com/kx-apiserver/kx/server/backup"
	"github.com/kx-apiserver/kx/server/builtin/core"
	"github.com/kx-apiserver/kx/server/builtin/rest"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/filter"
	"github.com/kx-apiserver/kx/server/flow"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/kubelet"
	"github.com/kx-apiserver/kx/server/kxapi"
	"github.com/kx-apiserver/kx/server/metrics"
	"github.com/kx-apiserver/kx/server/openapi"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/reload"
	"github.com/kx-apiserver/kx/server/service"
	tokens "github.com/kx-apiserver/kx/server/serviceaccount"
	"github.com/kx-apiserver/kx/server/tracing"
	"github.com/kx-apiserver/kx/server/version"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/cacher"
	"github.com/kx-apiserver/kx/store/transform"
)

// maxRequestBodyBytes limits the body of a request. etcd's own limit is set to match.
const maxRequestBodyBytes = 3 << 20

// Config holds everything that the chain of servers needs.
type Config struct {
	Options *options.Options
	Logger  *slog.Logger

	RESTOptions backend.RESTOptionsGetter
	// Caches are the watch caches of the storages that RESTOptions makes.
	Caches       cacher.Caches
	APIResources endpoint.APIResourceConfigSource
	// Own lists the API groups of the program that embeds this server, beside the built-in ones.
	Own []endpoint.RESTStorageProvider

	Authenticator *authn.Authenticator
	Authorizer    *authz.Authorizer
	// Roles decides by roles and bindings. RoleKeeper keeps it up to date.
	Roles      *rbac.Authorizer
	RoleKeeper *roles.Keeper
	Admission  *admission.Plugins
	// Services finds services, for webhooks and APIServices.
	Services *service.Finder
	// AdmissionKeeper follows the objects that configure admission.
	AdmissionKeeper *kept.Keeper
	AuditLog        *audit.Log
	// Kubelets reach nodes and pods.
	Kubelets *kubelet.Client
	// TokenKeys sign and verify tokens of service accounts. Tokens configures how they are issued.
	TokenKeys *tokens.Keys
	Tokens    core.Tokens

	Journeys *trace.Recorder
	// Tracing exports journeys; nil for none.
	Tracing *tracing.Tracer
	Metrics *metrics.Metrics
	// Writes counts the writes of controllers.
	Writes *work.Metrics
	// Controllers are nil until they are started.
	Controllers atomic.Pointer[controller.Controllers]
	Drain       *filter.Drain
	Discovery   *discovery.Manager
	OpenAPI     *openapi.Service
	// Flow is nil without priority and fairness.
	Flow *flow.Control

	EventTTL          time.Duration
	MinRequestTimeout time.Duration

	// EtcdHealth and EtcdReady return why etcd can't be used.
	EtcdHealth, EtcdReady func() error
	// Etcd gives access below the API.
	Etcd *kxapi.Etcd
	// Encryption keeps the encryption of stored objects as its file says; nil without a file.
	Encryption *reload.Keeper
	// Backups makes archives; nil for none.
	Backups *backup.Keeper
	// Moments record which revision etcd had at which time.
	Moments *kxapi.Moments
	// Compact compacts etcd's history at once.
	Compact kxapi.CompactFunc

	equivalents runtime.EquivalentResourceRegistry
	// address is where the server listens, and clientCAs returns the authorities of its clients in PEM.
	address   string
	clientCAs func() []byte
	// signClient signs a client certificate.
	signClient work.Sign
	// secretTokens signs tokens that Secrets hold.
	secretTokens *tokens.Signer
	// proxy holds the client certificate that this server presents to the servers of APIServices, unless flags name
	// another one.
	proxy *identity.FrontProxy
	// serverCA returns the authority, in PEM, that clients verify the server by, and a channel that closes when it is
	// renewed.
	serverCA func() (pem []byte, renewed <-chan struct{})
}

// newConfig makes the configuration of a server that clients reach at address and that keeps its objects in etcd.
// Whatever newConfig starts ends with ctx.
func newConfig(ctx context.Context, o *options.Options, log *slog.Logger, address string, tls *identity.TLS, keys *tokens.Keys,
	etcd etcd, counts *metrics.Metrics) (*Config, error) {
	c := &Config{
		Options:           o,
		Logger:            log,
		Journeys:          trace.NewRecorder(processID(), trace.DefaultLimits),
		Metrics:           counts,
		Writes:            work.NewMetrics(counts.Registry),
		Drain:             filter.NewDrain(),
		Discovery:         discovery.NewManager(address),
		OpenAPI:           openapi.NewService(version.KubernetesMajor + "." + version.KubernetesMinor),
		EventTTL:          o.EventTTL,
		MinRequestTimeout: time.Duration(o.Limits.MinRequestTimeout) * time.Second,
		equivalents:       runtime.NewEquivalentResourceRegistry(),
		address:           address,
		clientCAs:         tls.ClientCAsPEM,
		signClient:        tls.SignClient,
		serverCA:          tls.ServerCAPEM,
		TokenKeys:         keys,
		Services:          &service.Finder{Addresses: o.Admission.Services, Endpoints: o.Aggregator.Endpoints, Self: address},
	}
	if o.Allow.Objects {
		c.Journeys.SetLevel(trace.Objects)
	}
	steps := []func() error{
		func() error { return c.storage(ctx, o, etcd) },
		func() (err error) { c.APIResources, err = rest.ParseRuntimeConfig(o.RuntimeConfig); return },
		func() error { return c.authenticator(ctx, o, tls) },
		func() error { return c.authorizer(o) },
		func() error { return c.checkProxyCertificate(o) },
		func() (err error) {
			c.AdmissionKeeper = kept.New(c.Etcd.Live, c.Etcd.Decoder, c.Logger)
			c.Admission, err = admission.New(admission.Config{
				Selection: o.Admission.Selection, Tolerations: o.Admission.Tolerations, Authorizer: c.Authorizer,
				Services: c.Services, Kept: c.AdmissionKeeper, File: o.Admission.File,
				Process: c.Journeys.Process(), Registry: c.Metrics.Registry, Log: c.Logger,
			})
			return
		},
		func() (err error) {
			c.Kubelets, err = kubelet.New(kubelet.Config{
				CertFile: o.Kubelet.ClientCertificate, KeyFile: o.Kubelet.ClientKey, CAFile: o.Kubelet.CertificateAuthority,
				AddressTypes: o.Kubelet.PreferredAddressTypes,
			})
			return
		},
		func() (err error) {
			c.AuditLog, err = audit.Open(audit.Config{
				PolicyFile: o.Audit.PolicyFile, Log: o.Audit.Log, Webhook: o.Audit.Webhook,
				RequestTimeout: o.Limits.RequestTimeout, Registry: c.Metrics.Registry, Logger: c.Logger,
			})
			return
		},
		func() (err error) {
			if o.TracingConfigFile == "" {
				return nil
			}
			c.Tracing, err = tracing.New(ctx, tracing.Config{
				File: o.TracingConfigFile, Process: c.Journeys.Process(), Registry: c.Metrics.Registry, Log: c.Logger,
			})
			if err != nil {
				return fmt.Errorf("--tracing-config-file: %w", err)
			}
			return nil
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, errors.Join(err, c.AuditLog.Close())
		}
	}
	return c, nil
}

// anonymous reports whether requests without credentials are let in. With AlwaysAllow they are not, because then they
// could do everything.
func (c *Config) anonymous(o *options.Options) bool {
	if o.Access.AnonymousAuth && slices.Contains(o.Authorization.Modes, authz.AlwaysAllow) {
		c.Logger.Warn("requests without credentials get 401, since --authorization-mode=" + authz.AlwaysAllow +
			" would allow them everything")
		return false
	}
	return o.Access.AnonymousAuth
}

// frontProxy is the proxy that the flags name.
func frontProxy(tls *identity.TLS, h *options.RequestHeader) authn.FrontProxy {
	return authn.FrontProxy{
		CAs: tls.RequestHeaderCAs(), AllowedNames: h.AllowedNames,
		UsernameHeaders: h.UsernameHeaders, UIDHeaders: h.UIDHeaders, GroupHeaders: h.GroupHeaders,
		ExtraHeaderPrefixes: h.ExtraHeaderPrefixes,
	}
}

// authenticator makes the authenticator.
func (c *Config) authenticator(ctx context.Context, o *options.Options, tls *identity.TLS) (err error) {
	c.Authenticator, err = authn.New(ctx, authn.Config{
		ClientCAs: tls.ClientCAs, TokenFile: o.Access.TokenAuthFile, Audiences: o.Tokens.Audiences(), Anonymous: c.anonymous(o),
		BootstrapTokens: o.Access.BootstrapTokens, AnonymousGiven: o.Access.AnonymousGiven, Webhook: o.Issuers.Webhook,
		Issuers: issuer.Config{
			File: o.Issuers.ConfigFile, Flags: o.Issuers.Flags(), Ours: o.Tokens.Issuers,
			Process: c.Journeys.Process(), Registry: c.Metrics.Registry, Log: c.Logger,
		},
		FrontProxy:  frontProxy(tls, &o.Access.RequestHeader),
		AccountKeys: c.TokenKeys, AccountIssuers: o.Tokens.Issuers,
	})
	return err
}

// checkProxyCertificate verifies the files that flags name for the certificate of a front proxy.
func (c *Config) checkProxyCertificate(o *options.Options) error {
	if o.Aggregator.CertFile == "" {
		return nil
	}
	if err := identity.CheckSecret("--proxy-client-key-file", o.Aggregator.KeyFile); err != nil {
		return err
	}
	if _, err := c.proxyCertificate(); err != nil {
		return fmt.Errorf("--proxy-client-cert-file: %w", err)
	}
	return nil
}

// proxyCertificate returns the client certificate for the servers of APIServices, or nil if there is none. It reads
// files anew for each connection, so that a renewed certificate counts at once.
func (c *Config) proxyCertificate() (*cryptotls.Certificate, error) {
	a := &c.Options.Aggregator
	switch {
	case a.CertFile != "":
		certificate, err := cryptotls.LoadX509KeyPair(a.CertFile, a.KeyFile)
		return &certificate, err
	case a.Own(&c.Options.Access.RequestHeader):
		return c.proxy.Certificate()
	}
	return nil, nil
}

// storage configures how objects are stored.
func (c *Config) storage(ctx context.Context, o *options.Options, reached etcd) error {
	config := factory.NewDefaultConfig(o.Etcd.KeyPrefix(), nil)
	config.Type = o.Etcd.StorageBackend
	config.Transport, config.Shared = reached.transport, reached.shared
	config.CompactionInterval = o.Etcd.CompactionInterval
	etcd := backend.NewEtcdOptions(config)
	etcd.EncryptionProviderConfigFilepath, etcd.EncryptionProviderConfigAutomaticReload = o.Etcd.EncryptionProviderConfig,
		o.Etcd.EncryptionReload
	etcd.DeleteCollectionWorkers = deleteCollectionWorkers
	etcd.EnableWatchCache, etcd.DefaultWatchCacheSize = o.WatchCache.Enabled, o.WatchCache.DefaultSize
	etcd.WatchCacheSizes = o.WatchCache.Sizes
	if err := errors.Join(etcd.Validate()...); err != nil {
		return err
	}
	getter, err := backend.NewSimpleRestOptionsFactory(*etcd, func(resource schema.GroupResource) (runtime.Codec, error) {
		if !scheme.Scheme.IsGroupRegistered(resource.Group) {
			return nil, nil // the server of a group that is not built in has its own codec
		}
		return scheme.StorageCodec(resource, o.Etcd.StorageMediaType)
	})
	if err != nil {
		return err
	}
	getter.EncodeVersioner = func(resource schema.GroupResource) runtime.GroupVersioner {
		return schema.GroupVersions(scheme.Scheme.PrioritizedVersionsForGroup(resource.Group))
	}
	getter.StorageWithCacher = backend.StorageWithCacher(&c.Caches, o.WatchCache.Prefill, c.Journeys.Control(), c.Logger)
	c.RESTOptions = getter
	c.encryption(ctx, getter.Transformers())
	if c.EtcdHealth, err = factory.CreateHealthCheck(ctx, *config); err != nil {
		return err
	}
	client, release, err := reached.shared.Client(reached.transport)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, release)
	c.Etcd = &kxapi.Etcd{
		Live:    admin.Over(client, factory.Describe(reached.transport)),
		Decoder: &admin.Decoder{Prefix: o.Etcd.KeyPrefix(), Encryption: getter.Transformers()},
	}
	c.Moments = kxapi.NewMoments(c.Etcd.Live.Revision)
	c.Compact = func(ctx context.Context, revision int64) (int64, error) {
		return factory.Compact(ctx, *config, revision)
	}
	c.EtcdReady, err = factory.CreateReadyCheck(ctx, *config)
	return err
}

// backups makes the keeper of backup archives, and records for commands how this server was started.
func (c *Config) backups(dir *identity.DataDir) error {
	record, err := backup.NewRecord(c.Options)
	if err == nil {
		err = record.Write(dir)
	}
	if err != nil {
		return err
	}
	c.Backups, err = backup.New(backup.Config{
		Options: c.Options.Backup, DataDir: dir.Path, Record: record, Live: c.Etcd.Live, Registry: c.Metrics.Registry, Log: c.Logger,
	})
	return err
}

// encryption makes the keeper of the encryption configuration. When the configuration changes, caches read the objects
// again that they could not decrypt.
func (c *Config) encryption(ctx context.Context, transformers *transform.Resources) {
	if transformers == nil {
		return
	}
	go func() {
		for changed := transformers.Changed(); ; {
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
			changed = transformers.Changed()
			c.Caches.Reread()
		}
	}()
	c.Encryption = reload.New(reload.Config{
		Source: reload.OneFile(c.Options.Etcd.EncryptionProviderConfig), What: "the keys of stored objects",
		Take: func(ctx context.Context, files []reload.File, _ string) error {
			return transformers.Reload(ctx, files[0].Data)
		},
		Metrics: "apiserver_encryption_config_controller", Flag: "--encryption-provider-config", Process: c.Journeys.Process(),
		Registry: c.Metrics.Registry, Log: c.Logger,
	}, transformers.Hash())
}

// authorizer makes the authorizer of roles, and the one that requests pass, which consults it unless the options say
// otherwise.
func (c *Config) authorizer(o *options.Options) (err error) {
	c.Roles = rbac.New()
	if c.RoleKeeper, err = roles.New(c.Roles, c.Etcd.Live, c.Etcd.Decoder, c.Logger); err != nil {
		return err
	}
	c.Authorizer, err = authz.New(authz.Config{
		Modes: o.Authorization.InOrder(), File: o.Authorization.ConfigFile, Webhook: o.Authorization.Webhook, RBAC: c.Roles,
		Process: c.Journeys.Process(), Registry: c.Metrics.Registry, Log: c.Logger,
	})
	return err
}

// deleteCollectionWorkers limits the concurrent deletions of one DeleteCollection. They run at once because etcd syncs
// concurrent writes by one fsync.
const deleteCollectionWorkers = 8

// filters returns the configuration of the filter chain.
func (c *Config) filters(chain *Chain) (*filter.Config, error) {
	f := &filter.Config{
		RequestInfo: &request.RequestInfoFactory{
			APIPrefixes:          sets.NewString("api", "apis"),
			GrouplessAPIPrefixes: sets.NewString("api"),
		},
		LongRunning:                 longRunning,
		Counted:                     chain.Serves,
		Authenticator:               c.Authenticator,
		Authorizer:                  c.Authorizer,
		Serializer:                  scheme.Codecs,
		Journeys:                    c.Journeys,
		Tracing:                     c.Tracing,
		Metrics:                     c.Metrics,
		Drain:                       c.Drain,
		Logger:                      c.Logger,
		RequestTimeout:              c.Options.Limits.RequestTimeout,
		Flow:                        c.Flow,
		MaxRequestsInFlight:         c.Options.Limits.MaxRequestsInFlight,
		MaxMutatingRequestsInFlight: c.Options.Limits.MaxMutatingRequestsInFlight,
	}
	if c.AuditLog != nil {
		f.AuditSink, f.AuditPolicy = c.AuditLog, c.AuditLog.Policy
	}
	for _, pattern := range c.Options.Access.CORSAllowedOrigins {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, fmt.Errorf("--cors-allowed-origins: %w", err)
		}
		f.CORSAllowedOrigins = append(f.CORSAllowedOrigins, re)
	}
	return f, nil
}

// longRunning reports whether a request has no time limit: a watch, or a connection to a node, pod or service.
func longRunning(_ *http.Request, info *request.RequestInfo) bool {
	if !info.IsResourceRequest {
		return false
	}
	switch info.Subresource {
	case "attach", "exec", "proxy", "log", "portforward":
		return true
	}
	return info.Verb == "watch" || info.Verb == "proxy"
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
