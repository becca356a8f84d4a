package options

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission"
	serviceips "github.com/kx-apiserver/kx/server/builtin/core/service"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/coverage"
	"github.com/kx-apiserver/kx/server/service"
)

// Options holds the settings of kx serve.
type Options struct {
	DataDir   string
	Ephemeral bool
	// EphemeralDir is the temporary directory. A caller that must remove it even if the process dies creates it; if it
	// is empty, the server creates one.
	EphemeralDir  string
	Listen        string
	KubeconfigOut string

	Etcd       Etcd
	Serving    Serving
	Access     Access
	Limits     Limits
	Audit      Audit
	WatchCache WatchCache
	Allow      Allow
	Kubelet    Kubelet
	Tokens     Tokens
	Issuers    Issuers
	Admission  Admission
	Aggregator Aggregator
	Backup     Backup

	Authorization Authorization

	RuntimeConfig map[string]string
	EventTTL      time.Duration
	// Controllers selects the controllers of kube-controller-manager that the server runs.
	Controllers controller.Selection
	// ClusterSigningDuration limits the validity of certificates that are signed for requests.
	ClusterSigningDuration time.Duration
	// InitialObjects makes the server create the objects that every cluster has. AdvertiseAddress is the server's
	// address for clients in the cluster. EndpointReconciler decides whether it is an endpoint of the service
	// kubernetes.
	InitialObjects     bool
	AdvertiseAddress   net.IP
	EndpointReconciler string
	// ServiceIPs is the range of cluster IPs of the ServiceCIDR kubernetes, if the server creates it.
	ServiceIPs string
	// TracingConfigFile is a TracingConfiguration; empty to export no traces.
	TracingConfigFile string
	// Observe (optional) is called after each evaluation of an expression of a definition or a policy. No flag sets it.
	Observe coverage.Observer
	// Profiling lets administrators profile the server over HTTP.
	Profiling bool
}

// Etcd configures the storage of objects.
type Etcd struct {
	Servers                   []string
	CAFile, CertFile, KeyFile string
	Prefix                    string
	StorageBackend            string
	StorageMediaType          string
	EncryptionProviderConfig  string
	EncryptionReload          bool
	CompactionInterval        time.Duration
	EmbeddedListen            []string
	DeleteCollectionWorkers   int
}

// Serving has the server's address and certificate.
type Serving struct {
	TLSCertFile, TLSPrivateKeyFile string
}

// Access configures the accepted users.
type Access struct {
	ClientCAFile  string
	TokenAuthFile string
	AnonymousAuth bool
	// AnonymousGiven is true if a flag sets AnonymousAuth.
	AnonymousGiven bool
	// BootstrapTokens accepts the tokens of Secrets in kube-system.
	BootstrapTokens bool
	RequestHeader   RequestHeader
	// CORSAllowedOrigins are regular expressions.
	CORSAllowedOrigins []string
}

// Limits limits concurrent work and its duration.
type Limits struct {
	PriorityAndFairness         bool
	MaxRequestsInFlight         int
	MaxMutatingRequestsInFlight int
	RequestTimeout              time.Duration
	MinRequestTimeout           int // seconds
	MaxConnections              int
	MaxJourneys                 int

	// These limit the cost of one write.
	MaxObjectFields    int
	MaxDefaultBytes    int64
	MaxValidationSteps int64
}

// Kubelet configures the connections to nodes.
type Kubelet struct {
	ClientCertificate, ClientKey string
	CertificateAuthority         string
	PreferredAddressTypes        []string
}

// Aggregator configures the connections to the servers of APIServices.
type Aggregator struct {
	// CertFile and KeyFile are the client certificate that this server presents to them as a front proxy.
	CertFile, KeyFile string
	// Endpoints sends requests to the endpoints of services.
	Endpoints bool
}

// Own reports whether the server makes the front proxy's certificate itself.
func (a *Aggregator) Own(h *RequestHeader) bool { return a.CertFile == "" && h.ClientCAFile == "" }

func (a *Aggregator) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&a.CertFile, "proxy-client-cert-file", a.CertFile,
		"client certificate by which the servers of APIServices believe this one when it says who asks (default: one made "+
			"from an authority in the data directory, unless --requestheader-client-ca-file names another)")
	fs.StringVar(&a.KeyFile, "proxy-client-key-file", a.KeyFile, "key of that certificate")
	fs.BoolVar(&a.Endpoints, "enable-aggregator-routing", a.Endpoints,
		"send requests to the endpoints of services, not to cluster IPs: those for the versions of APIServices, and those to webhooks")
}

// WatchCache configures the caches of etcd's content.
type WatchCache struct {
	Enabled     bool
	Prefill     bool
	DefaultSize int
	Sizes       []string
}

// Allow configures how far administrators may interfere with requests.
type Allow struct {
	Breakpoints, Faults Permit
	// Objects has the objects of all requests recorded. No flag sets it.
	Objects bool
}

// Permit says when administrators may do something. It is the value of a flag.
type Permit string

const (
	// Asked is while a recording allows it.
	Asked  Permit = ""
	Always Permit = "always"
	Never  Permit = "never"
)

func (p *Permit) String() string { return string(*p) }
func (p *Permit) Type() string   { return "permit" }

// Set implements pflag.Value. The words of a boolean flag mean the same.
func (p *Permit) Set(text string) error {
	switch text {
	case "always", "true":
		*p = Always
	case "never", "false":
		*p = Never
	default:
		return errors.New("use always or never")
	}
	return nil
}

// Admission selects and configures the admission plugins.
type Admission struct {
	admission.Selection
	admission.Tolerations
	// Services has addresses for the services of webhooks.
	Services map[string]string
	// File configures plugins.
	File string
}

// The values of EndpointReconciler.
const (
	ReconcilerLease = "lease"
	ReconcilerNone  = "none"
)

// smallestServiceIPs is the length of the prefix of the smallest range from which cluster IPs can be allocated.
const smallestServiceIPs = 30

// defaultListen is the default address of kx serve.
const defaultListen = "127.0.0.1:7443"

// New returns the default options.
func New() *Options {
	return &Options{
		DataDir: defaultDataDir(),
		Listen:  defaultListen,
		Etcd: Etcd{
			Prefix:             "/registry",
			StorageBackend:     "etcd3",
			StorageMediaType:   runtime.ContentTypeProtobuf,
			CompactionInterval: 5 * time.Minute,
		},
		Access: Access{AnonymousAuth: true},
		Limits: Limits{
			PriorityAndFairness:         true,
			MaxRequestsInFlight:         400,
			MaxMutatingRequestsInFlight: 200,
			RequestTimeout:              time.Minute,
			MinRequestTimeout:           1800,
			MaxConnections:              5000,
			MaxJourneys:                 trace.DefaultLimits.Journeys,
			MaxObjectFields:             100_000,
			MaxDefaultBytes:             8 << 20,
			MaxValidationSteps:          2_000_000,
		},
		WatchCache: WatchCache{Enabled: true, DefaultSize: 100},
		Kubelet:    Kubelet{PreferredAddressTypes: []string{"Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"}},
		Tokens:     Tokens{Issuers: []string{DefaultIssuer}, ExtendExpiration: true},
		Issuers:    defaultIssuers(),
		Admission:  Admission{Tolerations: admission.Tolerations{NotReadySeconds: 300, UnreachableSeconds: 300}},
		EventTTL:   time.Hour,
		Profiling:  true,
		Backup:     Backup{Interval: time.Hour, Keep: 24},

		Audit:         defaultAudit(),
		Authorization: defaultAuthorization(),

		Controllers:            controller.Selection{"*"},
		ClusterSigningDuration: 365 * 24 * time.Hour,
		InitialObjects:         true,
		EndpointReconciler:     ReconcilerLease,
		ServiceIPs:             serviceips.DefaultIPs,
	}
}

func defaultDataDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ".kx"
	}
	return filepath.Join(home, ".kx")
}

// AddFlags adds the options' flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.DataDir, "data-dir", o.DataDir, "directory for keys, kubeconfig and the embedded etcd's data")
	fs.BoolVar(&o.Ephemeral, "ephemeral", o.Ephemeral, "keep everything in a temporary directory and leave nothing")
	fs.StringVar(&o.Listen, "listen", o.Listen, "address to serve on; port 0 picks a free one")
	fs.StringVar(&o.KubeconfigOut, "kubeconfig-out", o.KubeconfigOut,
		"where to write the administrator's kubeconfig (default <data-dir>/kubeconfig)")
	fs.StringToStringVar(&o.RuntimeConfig, "runtime-config", o.RuntimeConfig,
		"API versions to turn on or off, such as apps/v1beta1=true or api/all=false")
	fs.DurationVar(&o.EventTTL, "event-ttl", o.EventTTL, "how long to keep events")
	fs.StringSliceVar((*[]string)(&o.Controllers), "controllers", o.Controllers,
		"which of kube-controller-manager's controllers to run: * for all, name for one, -name for all but one of *; kx has "+
			""+strings.Join(controller.Names(), ", "))
	fs.DurationVar(&o.ClusterSigningDuration, "cluster-signing-duration", o.ClusterSigningDuration,
		"how long certificates that are signed for a CertificateSigningRequest are valid, if it does not ask for less")
	fs.BoolVar(&o.InitialObjects, "initial-objects", o.InitialObjects,
		"make the objects that every cluster has: the default roles and their bindings, the service kubernetes and its "+
			"endpoints, the default ServiceCIDR, the system's priority classes, extension-apiserver-authentication, flow "+
			"schemas and priority levels, APIServices")
	fs.IPVar(&o.AdvertiseAddress, "advertise-address", o.AdvertiseAddress,
		"where clients in the cluster reach this server (default: the address that it listens on, or this machine's if it "+
			"listens on all; none on loopback)")
	fs.StringVar(&o.EndpointReconciler, "endpoint-reconciler-type", o.EndpointReconciler,
		"whether this server is an endpoint of the service kubernetes: lease, or none")
	fs.StringVar(&o.ServiceIPs, "service-cluster-ip-range", o.ServiceIPs,
		"IPv4 range of cluster IPs: that of the ServiceCIDR kubernetes, if this server is the first on its etcd and makes it")
	fs.StringVar(&o.TracingConfigFile, "tracing-config-file", o.TracingConfigFile,
		"file with a TracingConfiguration: to which collector of OpenTelemetry requests are exported as traces, and how many of them")
	fs.BoolVar(&o.Profiling, "profiling", o.Profiling, "let administrators profile the server at /debug/pprof/")
	o.Etcd.addFlags(fs)
	o.addAccessFlags(fs)
	o.Tokens.addFlags(fs)
	o.Issuers.addFlags(fs)
	o.Authorization.addFlags(fs)
	o.Kubelet.addFlags(fs)
	o.Aggregator.addFlags(fs)
	o.Admission.addFlags(fs)
	o.Backup.addFlags(fs)
	fs.Var(&o.Allow.Breakpoints, "allow-breakpoints",
		"always or never let administrators, and whoever has the role kx:admin, hold requests at a step (default: while kx trace "+
			"record allows it)")
	fs.Var(&o.Allow.Faults, "allow-faults",
		"always or never let administrators, and whoever has the role kx:admin, make requests slow or fail (default: while kx "+
			"trace record allows it)")
	fs.Lookup("allow-breakpoints").NoOptDefVal, fs.Lookup("allow-faults").NoOptDefVal = string(Always), string(Always)
	o.Limits.addFlags(fs)
	o.Audit.addFlags(fs)
	fs.BoolVar(&o.WatchCache.Enabled, "watch-cache", o.WatchCache.Enabled,
		"keep what is in etcd in memory for reads and watches; etcd is only asked for its revision")
	fs.BoolVar(&o.WatchCache.Prefill, "watch-cache-prefill", o.WatchCache.Prefill,
		"fill all watch caches at the start, and be ready when they are filled; otherwise each is filled when its resource is first read")
	fs.IntVar(&o.WatchCache.DefaultSize, "default-watch-cache-size", o.WatchCache.DefaultSize,
		"0 turns the watch cache off; others say nothing, for it sizes itself")
	fs.StringSliceVar(&o.WatchCache.Sizes, "watch-cache-sizes", o.WatchCache.Sizes,
		"the same for single resources, as resource[.group]#size; events have no cache unless they have a size here")
}

func (l *Limits) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&l.PriorityAndFairness, "enable-priority-and-fairness", l.PriorityAndFairness,
		"give each priority level its share of --max-requests-inflight and --max-mutating-requests-inflight together, and "+
			"have requests beyond it wait in queues; without it, more than the one or the other are answered 429")
	fs.IntVar(&l.MaxRequestsInFlight, "max-requests-inflight", l.MaxRequestsInFlight,
		"how many reads are served at once: a part of what priority levels share; without --enable-priority-and-fairness, "+
			"how many before others are answered 429, 0 for no limit")
	fs.IntVar(&l.MaxMutatingRequestsInFlight, "max-mutating-requests-inflight", l.MaxMutatingRequestsInFlight,
		"how many writes are served at once: the other part; without --enable-priority-and-fairness, how many before others "+
			"are answered 429, 0 for no limit")
	fs.DurationVar(&l.RequestTimeout, "request-timeout", l.RequestTimeout,
		"how long a request may take, watches, logs and connections to pods and nodes excepted")
	fs.IntVar(&l.MinRequestTimeout, "min-request-timeout", l.MinRequestTimeout,
		"seconds that a watch lives at least, if its client does not say")
	fs.IntVar(&l.MaxConnections, "max-connections", l.MaxConnections,
		"how many connections of clients may be open at once; beyond, one that has sent no request yet is closed for a new "+
			"one; 0 for no limit")
	fs.IntVar(&l.MaxJourneys, "max-journeys", l.MaxJourneys,
		"how many of the latest requests are remembered with their steps, in 128 KiB for each on average")
	fs.IntVar(&l.MaxObjectFields, "max-object-fields", l.MaxObjectFields,
		"how many fields and list items an object that is written may have, at any depth; more is answered 413")
	fs.Int64Var(&l.MaxDefaultBytes, "max-default-bytes", l.MaxDefaultBytes,
		"how many bytes the defaults of its schema may add to a custom resource; more is answered 413")
	fs.Int64Var(&l.MaxValidationSteps, "max-validation-steps", l.MaxValidationSteps,
		"how many steps the validation of a custom resource by its schema may take, about one for each value and schema it "+
			"is held against; more is answered 422")
}

func (a *Admission) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&a.Enabled, "enable-admission-plugins", a.Enabled,
		"admission plugins to run beside those that are on by default; kx has "+
			strings.Join(admission.Names(), ", ")+"; off by default: "+strings.Join(admission.DisabledPlugins(), ", "))
	fs.StringSliceVar(&a.Disabled, "disable-admission-plugins", a.Disabled, "admission plugins to leave out")
	fs.StringToStringVar(&a.Services, "webhook-service-resolver", a.Services,
		"where services of webhooks and of APIServices are, as namespace/name=host:port or namespace/name:port=host:port; "+
			"others are reached at the cluster IPs or the external names that Services have, or at their endpoints with "+
			"--enable-aggregator-routing")
	fs.StringVar(&a.File, "admission-control-config-file", a.File,
		"file with an AdmissionConfiguration, which has or names the configuration of plugins: "+
			strings.Join(admission.Configurable(), ", "))
	fs.Int64Var(&a.NotReadySeconds, "default-not-ready-toleration-seconds", a.NotReadySeconds,
		"how long pods stay on a node that is not ready, if they don't say")
	fs.Int64Var(&a.UnreachableSeconds, "default-unreachable-toleration-seconds", a.UnreachableSeconds,
		"how long pods stay on a node that can't be reached, if they don't say")
}

func (k *Kubelet) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&k.ClientCertificate, "kubelet-client-certificate", k.ClientCertificate, "client certificate for kubelets")
	fs.StringVar(&k.ClientKey, "kubelet-client-key", k.ClientKey, "key of the client certificate for kubelets")
	fs.StringVar(&k.CertificateAuthority, "kubelet-certificate-authority", k.CertificateAuthority,
		"authority that signed the kubelets' certificates (default: they are not verified)")
	fs.StringSliceVar(&k.PreferredAddressTypes, "kubelet-preferred-address-types", k.PreferredAddressTypes,
		"types of a node's addresses, the preferred ones first")
}

// Flags returns the value of each flag by its name.
func (o *Options) Flags() map[string]string {
	present := *o
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	present.AddFlags(fs)
	values := map[string]string{}
	fs.VisitAll(func(f *pflag.Flag) { values[f.Name] = f.Value.String() })
	return values
}

// Changed returns the arguments of each flag whose value is not the default. A list flag has one argument for each
// item.
func (o *Options) Changed() map[string][]string {
	changed, defaults := map[string][]string{}, New().Flags()
	present := *o
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	present.AddFlags(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		text := f.Value.String()
		if text == defaults[f.Name] {
			return
		}
		several, ok := f.Value.(pflag.SliceValue)
		switch {
		case ok:
			changed[f.Name] = several.GetSlice()
		case f.Value.Type() == "stringToString":
			changed[f.Name] = []string{strings.Trim(text, "[]")}
		default:
			changed[f.Name] = []string{text}
		}
	})
	return changed
}

// KeyPrefix returns the Prefix with one leading slash and no trailing one, whatever slashes --etcd-prefix has.
func (e Etcd) KeyPrefix() string { return path.Join("/", e.Prefix) }

func (e *Etcd) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&e.Servers, "etcd-servers", e.Servers, "URLs of an etcd cluster (default: an etcd in this process)")
	fs.StringVar(&e.CAFile, "etcd-cafile", e.CAFile, "authority that signed the etcd servers' certificates")
	fs.StringVar(&e.CertFile, "etcd-certfile", e.CertFile, "client certificate for etcd")
	fs.StringVar(&e.KeyFile, "etcd-keyfile", e.KeyFile, "client key for etcd")
	fs.StringVar(&e.Prefix, "etcd-prefix", e.Prefix, "what keys in etcd begin with")
	fs.StringVar(&e.StorageBackend, "storage-backend", e.StorageBackend, "how objects are kept: etcd3")
	fs.StringVar(&e.StorageMediaType, "storage-media-type", e.StorageMediaType,
		"in which form built-in resources are kept: application/vnd.kubernetes.protobuf, application/json or application/yaml")
	fs.StringVar(&e.EncryptionProviderConfig, "encryption-provider-config", e.EncryptionProviderConfig,
		"file that says which resources are encrypted in etcd, and how")
	fs.BoolVar(&e.EncryptionReload, "encryption-provider-config-automatic-reload", e.EncryptionReload,
		"read the file of --encryption-provider-config again when it changes")
	fs.DurationVar(&e.CompactionInterval, "etcd-compaction-interval", e.CompactionInterval,
		"how often etcd's history is compacted; 0 for never")
	fs.StringSliceVar(&e.EmbeddedListen, "embedded-etcd-listen", e.EmbeddedListen,
		"URLs at which the etcd in this process listens beside its socket: https://…, or http://… on a loopback address")
}

func (o *Options) addAccessFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Serving.TLSCertFile, "tls-cert-file", o.Serving.TLSCertFile,
		"serving certificate (default: one made from the authority in the data directory)")
	fs.StringVar(&o.Serving.TLSPrivateKeyFile, "tls-private-key-file", o.Serving.TLSPrivateKeyFile, "key of the serving certificate")
	fs.StringVar(&o.Access.ClientCAFile, "client-ca-file", o.Access.ClientCAFile,
		"another authority whose client certificates are believed")
	fs.StringVar(&o.Access.TokenAuthFile, "token-auth-file", o.Access.TokenAuthFile,
		"CSV file of bearer tokens: token,user,uid,\"group1,group2\"")
	fs.BoolVar(&o.Access.BootstrapTokens, "enable-bootstrap-token-auth", o.Access.BootstrapTokens,
		"know machines that join by bootstrap tokens, which are Secrets of type bootstrap.kubernetes.io/token in kube-system")
	o.Access.RequestHeader.addFlags(fs)
	fs.StringSliceVar(&o.Access.CORSAllowedOrigins, "cors-allowed-origins", o.Access.CORSAllowedOrigins,
		"regular expressions of the origins whose pages may call the server from a browser, such as ^https://example\\.com$")
	fs.BoolVar(&o.Access.AnonymousAuth, "anonymous-auth", o.Access.AnonymousAuth,
		"know requests without credentials as the user system:anonymous, whom the role system:public-info-viewer lets read "+
			"/healthz, /livez, /readyz and /version; else they get 401")
	track(fs, "anonymous-auth", &o.Access.AnonymousGiven)
}

// Validate returns all errors of the options.
func (o *Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		bad("--listen: %q is not host:port: %v", o.Listen, err)
	}
	o.Authorization.validate(bad)
	if (o.Serving.TLSCertFile == "") != (o.Serving.TLSPrivateKeyFile == "") {
		bad("--tls-cert-file and --tls-private-key-file go together: give both or neither")
	}
	if (o.Aggregator.CertFile == "") != (o.Aggregator.KeyFile == "") {
		bad("--proxy-client-cert-file and --proxy-client-key-file: give both or neither")
	}
	if (o.Kubelet.ClientCertificate == "") != (o.Kubelet.ClientKey == "") {
		bad("--kubelet-client-certificate and --kubelet-client-key go together: give both or neither")
	}
	if o.ClusterSigningDuration < 10*time.Minute {
		bad("--cluster-signing-duration: %v is less than the 10 minutes that a request may ask for", o.ClusterSigningDuration)
	}
	if o.Limits.RequestTimeout <= 0 {
		bad("--request-timeout: %v is not a time to wait: give more than 0", o.Limits.RequestTimeout)
	}
	if o.Limits.MinRequestTimeout < 0 || o.Limits.MaxRequestsInFlight < 0 || o.Limits.MaxMutatingRequestsInFlight < 0 ||
		o.Limits.MaxConnections < 0 {
		bad("--min-request-timeout, --max-requests-inflight, --max-mutating-requests-inflight and --max-connections can't be negative")
	}
	if o.Limits.PriorityAndFairness && o.Limits.MaxRequestsInFlight == 0 && o.Limits.MaxMutatingRequestsInFlight == 0 {
		bad("--max-requests-inflight and --max-mutating-requests-inflight are 0, which leaves nothing to share: give one of " +
			"them, or --enable-priority-and-fairness=false")
	}
	if o.Limits.MaxJourneys <= 0 {
		bad("--max-journeys: %d is too few: give 1 or more", o.Limits.MaxJourneys)
	}
	if o.Limits.MaxObjectFields <= 0 || o.Limits.MaxDefaultBytes <= 0 || o.Limits.MaxValidationSteps <= 0 {
		bad("--max-object-fields, --max-default-bytes and --max-validation-steps must be more than 0")
	}
	if o.EventTTL < time.Second {
		bad("--event-ttl: %v is too short: give a second or more", o.EventTTL)
	}
	if o.EndpointReconciler != ReconcilerLease && o.EndpointReconciler != ReconcilerNone {
		bad("--endpoint-reconciler-type: %q is neither lease nor none", o.EndpointReconciler)
	}
	if ips, err := netip.ParsePrefix(o.ServiceIPs); err != nil || !ips.Addr().Is4() || ips.Bits() > smallestServiceIPs {
		bad("--service-cluster-ip-range: %q is not an IPv4 range such as %s, with 4 addresses or more", o.ServiceIPs, serviceips.DefaultIPs)
	}
	if o.WatchCache.DefaultSize < 0 {
		bad("--default-watch-cache-size: %d can't be negative", o.WatchCache.DefaultSize)
	}
	for _, pattern := range o.Access.CORSAllowedOrigins {
		if err := checkOriginPattern(pattern); err != nil {
			bad("--cors-allowed-origins: %v", err)
		}
	}
	if err := o.Controllers.Validate(); err != nil {
		bad("--controllers: %w", err)
	}
	errs = append(errs, o.Audit.validate(), o.Tokens.validate(), o.Issuers.validate(), o.Access.RequestHeader.validate(),
		o.Etcd.validate(), o.Backup.validate(), o.Admission.Check(), service.Addresses(o.Admission.Services).Check())
	return errors.Join(errs...)
}

// checkOriginPattern refuses a pattern that matches more origins than intended: example.com also matches
// https://example.com.elsewhere.net, whose pages could then use the browser's credentials.
func checkOriginPattern(pattern string) error {
	if _, err := regexp.Compile(pattern); err != nil {
		return fmt.Errorf("%q is not a regular expression: %w", pattern, err)
	}
	begins := strings.Contains(pattern, "^") || strings.Contains(pattern, "//")
	ends := strings.Contains(pattern, "$") || strings.Contains(strings.ReplaceAll(pattern, "://", ""), ":")
	if !begins || !ends {
		return fmt.Errorf("%q does not say where the host begins and ends: write ^https://example\\.com$", pattern)
	}
	return nil
}

var storageMediaTypes = map[string]bool{
	runtime.ContentTypeProtobuf: true,
	runtime.ContentTypeJSON:     true,
	runtime.ContentTypeYAML:     true,
}

func (e *Etcd) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, server := range e.Servers {
		if u, err := url.Parse(server); err != nil || u.Host == "" && u.Scheme != "unix" && u.Scheme != "unixs" {
			bad("--etcd-servers: %q is not a URL such as https://127.0.0.1:2379", server)
		}
	}
	if len(e.Servers) > 0 && len(e.EmbeddedListen) > 0 {
		bad("--embedded-etcd-listen is for the etcd in this process, and with --etcd-servers there is none")
	}
	if (e.CertFile == "") != (e.KeyFile == "") {
		bad("--etcd-certfile and --etcd-keyfile go together: give both or neither")
	}
	if !storageMediaTypes[e.StorageMediaType] {
		bad("--storage-media-type: %q is none of application/vnd.kubernetes.protobuf, application/json and application/yaml",
			e.StorageMediaType)
	}
	if e.CompactionInterval < 0 {
		bad("--etcd-compaction-interval: %v can't be negative: give 0 for never", e.CompactionInterval)
	}
	return errors.Join(errs...)
}
