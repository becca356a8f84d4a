package options

import (
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
		{"--audit-policy-file=p", "--audit-log-path"},
		{"--event-ttl=1ms", "--event-ttl"},
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
