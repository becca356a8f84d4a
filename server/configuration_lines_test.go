package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/server/options"
)

// TestConfigurationErrors: a file of no use is an error at the start, one sentence with the flag, the file, the line and the field.
func TestConfigurationErrors(t *testing.T) {
	t.Parallel()
	const config = "apiVersion: apiserver.config.k8s.io/v1\n# a comment\nkind: "
	for name, tc := range map[string]struct {
		flag func(o *options.Options, file string)
		text string
		want string
	}{
		"issuer's field": {func(o *options.Options, file string) { o.Issuers.ConfigFile = file },
			config + "AuthenticationConfiguration\njwt:\n- issuer:\n    url: http://example.com\n    audiences: [a]\n", "--authentication-config: FILE: line 6: jwt[0].issuer.url: Invalid value"},
		"issuer's unknown field": {func(o *options.Options, file string) { o.Issuers.ConfigFile = file },
			config + "AuthenticationConfiguration\njwt:\n- isuer: {}\n", `FILE: line 5: jwt[0].isuer: unknown field "jwt[0].isuer"`},
		"authorizer's missing field": {func(o *options.Options, file string) { o.Authorization.ConfigFile = file },
			config + "AuthorizationConfiguration\nauthorizers:\n- type: RBAC\n  name: rbac\n- type: Webhook\n  name: w\n  webhook:\n    timeout: 1s\n", "--authorization-config: FILE: line 7: authorizers[1].subjectAccessReviewVersion: Required value; line 7: "},
		"authorizer's name": {func(o *options.Options, file string) { o.Authorization.ConfigFile = file },
			config + "AuthorizationConfiguration\nauthorizers:\n- type: RBAC\n  name: other\n", `FILE: line 6: authorizers[0].name: "other" must be "rbac"`},
		"authorizer's syntax": {func(o *options.Options, file string) { o.Authorization.ConfigFile = file },
			config + "AuthorizationConfiguration\nauthorizers: [\n", "FILE: "},
		"admission's plugin": {func(o *options.Options, file string) { o.Admission.File = file },
			config + "AdmissionConfiguration\nplugins:\n- name: PodSecurity\n- name: Other\n", `--admission-control-config-file: FILE: line 6: plugins[1].name: there is no plugin "Other"`},
		"a plugin's field": {func(o *options.Options, file string) { o.Admission.File = file },
			config + "AdmissionConfiguration\nplugins:\n- name: PodSecurity\n  configuration:\n    apiVersion: pod-security.admission.config.k8s.io/v1\n    kind: PodSecurityConfiguration\n    defaults:\n      enforce: hard\n",
			"FILE: plugins[0].configuration: line 10: defaults.enforce: Invalid value"},
		"a key": {func(o *options.Options, file string) { o.Etcd.EncryptionProviderConfig = file },
			config + "EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - secretbox:\n      keys:\n      - name: a\n        secret: hidden==\n", "FILE: line 10: resources[0].providers[0].secretbox.keys[0].secret"},
		"a provider": {func(o *options.Options, file string) { o.Etcd.EncryptionProviderConfig = file },
			config + "EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - secretbx: {}\n", "FILE: line 7: resources[0].providers[0].secretbx: unknown field"},
		"traces": {func(o *options.Options, file string) { o.TracingConfigFile = file },
			config + "TracingConfiguration\nendpoint: localhost:4317\nsamplingRatePerMillion: -1\n", "--tracing-config-file: FILE: line 5: samplingRatePerMillion: Invalid value"},
		"a webhook's kubeconfig": {func(o *options.Options, file string) { o.Issuers.Webhook.File = file },
			"apiVersion: v1\nkind: Config\nclusters: some\n", "--authentication-token-webhook-config-file: FILE: line 3: clusters: "},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			must(t, os.WriteFile(file, []byte(tc.text), 0o600))
			_, stop, err := launch(func(o *options.Options) { tc.flag(o, file) })
			if err == nil {
				must(t, stop())
				t.Fatal("it starts")
			}
			said := strings.ReplaceAll(fmt.Sprint(err), file, "FILE")
			if !strings.Contains(said, tc.want) || !strings.Contains(said, "line ") || strings.ContainsAny(said, "\n") || strings.Contains(said, "hidden") {
				t.Errorf("it says %s\nnot     %s", said, tc.want)
			}
		})
	}
}
