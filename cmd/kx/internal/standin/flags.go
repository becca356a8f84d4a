package standin

import (
	"slices"
	"strconv"

	"github.com/spf13/pflag"
)

// flagRow is a flag of kube-apiserver. It means the same as the flag of kx serve with its name, or the one that
// addFlags declares. Flags with neither have no meaning in kx.
type flagRow struct {
	name string
	// kind is the type of the value of a flag without a meaning, as the help names it.
	kind string
	// same are values that ask for what kx does anyway.
	same []string
}

// holds reports whether a value asks for what kx does anyway.
func (f flagRow) holds(value string) bool { return slices.Contains(f.same, value) }

// verbosity is the flag that is also its own shorthand.
const verbosity = "v"

// unusedAnnotation marks the flags without a meaning.
const unusedAnnotation = "kx-unused"

// unused returns a flag that takes any value of the kind, and does nothing.
func (f flagRow) unused() *pflag.Flag {
	usage := "means nothing to kx"
	if len(f.same) > 0 {
		usage = "kx behaves as with " + f.same[0] + " anyway"
	}
	made := &pflag.Flag{Name: f.name, Usage: usage, Value: &ignored{kind: f.kind}, Annotations: map[string][]string{unusedAnnotation: {}}}
	switch {
	case f.kind == "bool":
		made.NoOptDefVal = "true"
	case f.name == verbosity:
		made.Shorthand = verbosity
	}
	return made
}

// ignored is the value of a flag without a meaning: the last text that it was given.
type ignored struct{ kind, text string }

func (v *ignored) String() string { return v.text }
func (v *ignored) Type() string   { return v.kind }

func (v *ignored) Set(text string) error {
	v.text = text
	if v.kind == "bool" {
		_, err := strconv.ParseBool(text)
		return err
	}
	return nil
}

// table lists the flags of kube-apiserver v1.37 by name.
var table = []flagRow{
	{name: "admission-control", kind: "strings"},
	{name: "admission-control-config-file"}, {name: "advertise-address"},
	{name: "aggregator-reject-forwarding-redirect", kind: "bool", same: []string{"true"}},
	{name: "allow-metric-labels", kind: "stringToString"},
	{name: "allow-metric-labels-manifest", kind: "string"},
	{name: "allow-privileged", kind: "bool", same: []string{"true"}},
	{name: "anonymous-auth"}, {name: "api-audiences"},
	{name: "apiserver-count", kind: "int"},
	{name: "audit-log-batch-buffer-size"}, {name: "audit-log-batch-max-size"}, {name: "audit-log-batch-max-wait"},
	{name: "audit-log-batch-throttle-burst"}, {name: "audit-log-batch-throttle-enable"}, {name: "audit-log-batch-throttle-qps"},
	{name: "audit-log-compress"}, {name: "audit-log-format"}, {name: "audit-log-maxage"}, {name: "audit-log-maxbackup"},
	{name: "audit-log-maxsize"}, {name: "audit-log-mode"}, {name: "audit-log-path"}, {name: "audit-log-truncate-enabled"},
	{name: "audit-log-truncate-max-batch-size"}, {name: "audit-log-truncate-max-event-size"}, {name: "audit-log-version"},
	{name: "audit-policy-file"}, {name: "audit-webhook-batch-buffer-size"}, {name: "audit-webhook-batch-initial-backoff"},
	{name: "audit-webhook-batch-max-size"}, {name: "audit-webhook-batch-max-wait"}, {name: "audit-webhook-batch-throttle-burst"},
	{name: "audit-webhook-batch-throttle-enable"}, {name: "audit-webhook-batch-throttle-qps"}, {name: "audit-webhook-config-file"},
	{name: "audit-webhook-initial-backoff"}, {name: "audit-webhook-mode"}, {name: "audit-webhook-truncate-enabled"},
	{name: "audit-webhook-truncate-max-batch-size"}, {name: "audit-webhook-truncate-max-event-size"},
	{name: "audit-webhook-version"}, {name: "authentication-config"}, {name: "authentication-token-webhook-cache-ttl"},
	{name: "authentication-token-webhook-config-file"}, {name: "authentication-token-webhook-version"},
	{name: "authorization-config"}, {name: "authorization-mode"},
	{name: "authorization-policy-file", kind: "string"},
	{name: "authorization-webhook-cache-authorized-ttl"}, {name: "authorization-webhook-cache-unauthorized-ttl"},
	{name: "authorization-webhook-config-file"}, {name: "authorization-webhook-version"}, {name: "bind-address"},
	{name: "cert-dir"}, {name: "client-ca-file"},
	{name: "contention-profiling", kind: "bool", same: []string{"false"}},
	{name: "coordinated-leadership-lease-duration", kind: "duration"},
	{name: "coordinated-leadership-renew-deadline", kind: "duration"},
	{name: "coordinated-leadership-retry-period", kind: "duration"},
	{name: "cors-allowed-origins"},
	{name: "debug-socket-path", kind: "string"},
	{name: "default-not-ready-toleration-seconds"}, {name: "default-unreachable-toleration-seconds"},
	{name: "default-watch-cache-size"},
	{name: "delete-collection-workers", kind: "int"},
	{name: "disable-admission-plugins"},
	{name: "disable-http2-serving", kind: "bool", same: []string{"false"}},
	{name: "disabled-metrics", kind: "strings"},
	{name: "egress-selector-config-file", kind: "string"},
	{name: "emulated-version", kind: "strings", same: []string{"1.37", "kube=1.37"}},
	{name: "emulation-forward-compatible", kind: "bool"},
	{name: "enable-admission-plugins"}, {name: "enable-aggregator-routing"}, {name: "enable-bootstrap-token-auth"},
	{name: "enable-garbage-collector", kind: "bool", same: []string{"true"}},
	{name: "enable-logs-handler", kind: "bool", same: []string{"false"}},
	{name: "enable-priority-and-fairness"}, {name: "encryption-provider-config"},
	{name: "encryption-provider-config-automatic-reload"}, {name: "endpoint-reconciler-type"}, {name: "etcd-cafile"},
	{name: "etcd-certfile"}, {name: "etcd-compaction-interval"},
	{name: "etcd-count-metric-poll-period", kind: "duration"},
	{name: "etcd-db-metric-poll-interval", kind: "duration"},
	{name: "etcd-healthcheck-timeout", kind: "duration"},
	{name: "etcd-keyfile"}, {name: "etcd-prefix"},
	{name: "etcd-readycheck-timeout", kind: "duration"},
	{name: "etcd-servers"},
	{name: "etcd-servers-overrides", kind: "strings"},
	{name: "event-ttl"},
	{name: "external-hostname", kind: "string"},
	{name: "feature-gates", kind: "mapStringBool"},
	{name: "goaway-chance", kind: "float", same: []string{"0"}},
	{name: "help"},
	{name: "http2-max-streams-per-connection", kind: "int"},
	{name: "kubelet-certificate-authority"}, {name: "kubelet-client-certificate"}, {name: "kubelet-client-key"},
	{name: "kubelet-port", kind: "uint"},
	{name: "kubelet-preferred-address-types"},
	{name: "kubelet-read-only-port", kind: "uint"},
	{name: "kubelet-timeout", kind: "duration"},
	{name: "kubernetes-service-node-port", kind: "int", same: []string{"0"}},
	{name: "lease-reuse-duration-seconds", kind: "int"},
	{name: "livez-grace-period", kind: "duration", same: []string{"0", "0s"}},
	{name: "log-flush-frequency", kind: "duration"},
	{name: "log-json-info-buffer-size", kind: "quantity"},
	{name: "log-json-split-stream", kind: "bool"},
	{name: "log-text-info-buffer-size", kind: "quantity"},
	{name: "log-text-split-stream", kind: "bool"},
	{name: "logging-format", kind: "string", same: []string{"text"}},
	{name: "max-connection-bytes-per-sec", kind: "int", same: []string{"0"}},
	{name: "max-mutating-requests-inflight"}, {name: "max-requests-inflight"},
	{name: "min-compatibility-version", kind: "strings"},
	{name: "min-request-timeout"}, {name: "oidc-ca-file"}, {name: "oidc-client-id"}, {name: "oidc-groups-claim"},
	{name: "oidc-groups-prefix"}, {name: "oidc-issuer-url"}, {name: "oidc-required-claim"}, {name: "oidc-signing-algs"},
	{name: "oidc-username-claim"}, {name: "oidc-username-prefix"},
	{name: "peer-advertise-ip", kind: "string"},
	{name: "peer-advertise-port", kind: "string"},
	{name: "peer-ca-file", kind: "string"},
	{name: "permit-address-sharing", kind: "bool", same: []string{"false"}},
	{name: "permit-port-sharing", kind: "bool", same: []string{"false"}},
	{name: "profiling"}, {name: "proxy-client-cert-file"}, {name: "proxy-client-key-file"}, {name: "request-timeout"},
	{name: "requestheader-allowed-names"}, {name: "requestheader-client-ca-file"}, {name: "requestheader-extra-headers-prefix"},
	{name: "requestheader-group-headers"}, {name: "requestheader-uid-headers"}, {name: "requestheader-username-headers"},
	{name: "runtime-config"},
	{name: "runtime-config-emulation-forward-compatible", kind: "bool"},
	{name: "secure-port"}, {name: "service-account-extend-token-expiration"}, {name: "service-account-issuer"},
	{name: "service-account-jwks-uri"}, {name: "service-account-key-file"},
	{name: "service-account-lookup", kind: "bool", same: []string{"true"}},
	{name: "service-account-max-token-expiration"},
	{name: "service-account-signing-endpoint", kind: "string"},
	{name: "service-account-signing-key-file"}, {name: "service-cluster-ip-range"},
	{name: "service-node-port-range", kind: "portRange", same: []string{"30000-32767"}},
	{name: "show-hidden-metrics-for-version", kind: "string"},
	{name: "shutdown-delay-duration", kind: "duration", same: []string{"0", "0s"}},
	{name: "shutdown-send-retry-after", kind: "bool", same: []string{"false"}},
	{name: "shutdown-watch-termination-grace-period", kind: "duration", same: []string{"0", "0s"}},
	{name: "storage-backend"},
	{name: "storage-initialization-timeout", kind: "duration"},
	{name: "storage-media-type"},
	{name: "strict-transport-security-directives", kind: "strings"},
	{name: "tls-cert-file"},
	{name: "tls-cipher-suites", kind: "strings"},
	{name: "tls-curve-preferences", kind: "int32Slice"},
	{name: "tls-min-version", kind: "string", same: []string{"VersionTLS12"}},
	{name: "tls-private-key-file"},
	{name: "tls-sni-cert-key", kind: "namedCertKey"},
	{name: "token-auth-file"}, {name: "tracing-config-file"},
	{name: "v", kind: "Level", same: []string{"0"}},
	{name: "version"},
	{name: "vmodule", kind: "moduleSpec"},
	{name: "watch-cache"}, {name: "watch-cache-sizes"},
}
