package options

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestFlags(t *testing.T) {
	tests := []struct {
		args string
		want string // part of the error; empty for none
	}{
		{"", ""},
		{"--listen=127.0.0.1:0 --ephemeral", ""},
		{"--listen=7443", `--listen: "7443" is not host:port`},
		{"--tls-cert-file=a", "go together"},
		{"--etcd-servers=https://127.0.0.1:2379,unix:///run/etcd.sock", ""},
		{"--etcd-servers=127.0.0.1", "is not a URL"},
		{"--etcd-servers=https://h:1 --embedded-etcd-listen=https://h:2", "there is none"},
		{"--etcd-certfile=a", "--etcd-certfile and --etcd-keyfile go together"},
		{"--etcd-prefix=registry", ""},
		{"--storage-media-type=text/html", "--storage-media-type"},
		{"--etcd-compaction-interval=-1s", "can't be negative"},
		{"--request-timeout=0", "--request-timeout"},
		{"--audit-policy-file=p", "neither --audit-log-path nor --audit-webhook-config-file says where"},
		{"--audit-policy-file=p --audit-webhook-config-file=w --audit-webhook-batch-initial-backoff=1s", ""},
		{"--audit-log-mode=later", `--audit-log-mode: "later" is none of batch, blocking, blocking-strict`},
		{"--audit-webhook-mode=", `--audit-webhook-mode: "" is none of`},
		{"--audit-log-format=xml", `--audit-log-format: "xml" is none of legacy, json`},
		{"--audit-log-version=audit.k8s.io/v1beta1", `--audit-log-version: "audit.k8s.io/v1beta1" must be audit.k8s.io/v1`},
		{"--audit-webhook-version=v1", `--audit-webhook-version: "v1" must be`},
		{"--audit-log-maxage=-1", "can't be negative"},
		{"--audit-log-maxsize=0 --audit-log-maxbackup=0 --audit-log-maxage=0", ""},
		{"--audit-webhook-initial-backoff=-1s", "can't be negative"},
		{"--audit-webhook-batch-buffer-size=0", "must be from 1 to"},
		{"--audit-webhook-batch-buffer-size=100000000", "must be from 1 to"},
		{"--audit-webhook-mode=blocking --audit-webhook-batch-buffer-size=0", ""},
		{"--audit-webhook-batch-max-size=-1", "must be more than 0"},
		{"--audit-webhook-batch-max-wait=-1s", "can't be negative"},
		{"--audit-webhook-batch-throttle-qps=0", "or give --audit-webhook-batch-throttle-enable=false"},
		{"--audit-webhook-batch-throttle-qps=0 --audit-webhook-batch-throttle-enable=false", ""},
		{"--audit-log-truncate-max-event-size=0", "--audit-log-truncate-max-event-size must be more than 0"},
		{"--audit-webhook-truncate-max-batch-size=1", "no less than that"},
		{"--event-ttl=1ms", "--event-ttl"},
		{"--service-account-issuer=a --service-account-issuer=https://b --api-audiences=c,d", ""},
		{"--service-account-issuer=", "an issuer can't be empty"},
		{"--service-account-issuer=a --service-account-issuer=a", `"a" is given twice`},
		{"--service-account-issuer=:a", `":a" has a colon and is not a URL`},
		{"--service-account-max-token-expiration=59m", "59m0s is not between 1 hour and 2^32 seconds"},
		{"--service-account-max-token-expiration=2000000h", "is not between 1 hour and 2^32 seconds"},
		{"--service-account-jwks-uri=http://a", `"http://a" is not an https URL`},
		{"--authentication-config=a --anonymous-auth=false", ""},
		{"--authentication-config=a --oidc-username-claim=sub", "--authentication-config and --oidc-* exclude each other"},
		{"--oidc-issuer-url=https://a --oidc-client-id=b --oidc-required-claim=c=d,e --oidc-required-claim=f=g", ""},
		{"--oidc-issuer-url=https://a", "--oidc-issuer-url and --oidc-client-id go together"},
		{"--oidc-username-claim=sub", "--oidc-issuer-url and --oidc-client-id go together"},
		{"--authentication-token-webhook-version=v2", `"v2" is neither v1 nor v1beta1`},
		{"--authentication-token-webhook-cache-ttl=-1s", "can't be negative"},
		{"--default-watch-cache-size=-1", "--default-watch-cache-size"},
		{"--max-requests-inflight=-1", "can't be negative"},
		{`--cors-allowed-origins=^https://example\.com$,//localhost(:|$)`, ""},
		{`--cors-allowed-origins=https://example\.com`, "where the host begins and ends"},
		{`--cors-allowed-origins=example\.com$`, "where the host begins and ends"},
		{`--cors-allowed-origins=^(`, "is not a regular expression"},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			o := New()
			fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
			o.AddFlags(fs)
			if err := fs.Parse(strings.Fields(test.args)); err != nil {
				t.Fatal(err)
			}
			err := o.Validate()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Validate: %v, want %q", err, test.want)
			}
		})
	}
}

func TestRuntimeConfig(t *testing.T) {
	o := New()
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse([]string{"--runtime-config=apps/v1beta1=true,api/all=false"}); err != nil {
		t.Fatal(err)
	}
	if o.RuntimeConfig["apps/v1beta1"] != "true" || o.RuntimeConfig["api/all"] != "false" {
		t.Errorf("RuntimeConfig = %v", o.RuntimeConfig)
	}
}

func TestAudiences(t *testing.T) {
	o := New()
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o.AddFlags(fs)
	if got := o.Tokens.Audiences(); !slices.Equal(got, []string{DefaultIssuer}) {
		t.Errorf("by default %q", got)
	}
	if err := fs.Parse([]string{"--service-account-issuer=a", "--service-account-issuer=b"}); err != nil {
		t.Fatal(err)
	}
	if got := o.Tokens.Audiences(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("of two issuers %q", got)
	}
	if err := fs.Parse([]string{"--api-audiences=c"}); err != nil {
		t.Fatal(err)
	}
	if got := o.Tokens.Audiences(); !slices.Equal(got, []string{"c"}) {
		t.Errorf("given %q", got)
	}
}

// TestAuditDefaults has the defaults of the Kubernetes API server's flags, which must not change by themselves.
func TestAuditDefaults(t *testing.T) {
	want := map[string]string{
		"policy-file": "", "log-path": "", "log-maxsize": "100", "log-maxbackup": "100", "log-maxage": "366", "log-compress": "false",
		"log-format": "json", "log-version": "audit.k8s.io/v1", "log-mode": "blocking", "log-batch-buffer-size": "10000",
		"log-batch-max-size": "1", "log-batch-max-wait": "0s", "log-batch-throttle-enable": "false", "log-batch-throttle-qps": "0",
		"log-batch-throttle-burst": "0", "log-truncate-enabled": "false", "log-truncate-max-event-size": "102400",
		"log-truncate-max-batch-size": "10485760",
		"webhook-config-file":         "", "webhook-initial-backoff": "10s", "webhook-batch-initial-backoff": "10s",
		"webhook-version": "audit.k8s.io/v1", "webhook-mode": "batch", "webhook-batch-buffer-size": "10000",
		"webhook-batch-max-size": "400", "webhook-batch-max-wait": "30s", "webhook-batch-throttle-enable": "true",
		"webhook-batch-throttle-qps": "10", "webhook-batch-throttle-burst": "15", "webhook-truncate-enabled": "false",
		"webhook-truncate-max-event-size": "102400", "webhook-truncate-max-batch-size": "10485760",
	}
	got := map[string]string{}
	for name, value := range New().Flags() {
		if name, ok := strings.CutPrefix(name, "audit-"); ok {
			got[name] = value
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the defaults are %v, not %v", got, want)
	}
}
