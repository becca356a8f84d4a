package admission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/server/admission"
)

// TestConfiguration: what can't be read is refused at the start, with the file and the field.
func TestConfiguration(t *testing.T) {
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
	const security = "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\n"
	dir := t.TempDir()
	const limits = "apiVersion: apiserver.config.k8s.io/v1\nkind: ResourceQuotaConfiguration\nlimitedResources:\n"
	const quotas = "- name: ResourceQuota\n  configuration:\n    apiVersion: apiserver.config.k8s.io/v1\n    kind: ResourceQuotaConfiguration\n    limitedResources:\n    - resource: pods\n      matchScopes:\n"
	for name, text := range map[string]string{"limits.yaml": limits + "- {resource: pods, matchContains: [pods]}\n", "bad_limits.yaml": limits + "- {matchContains: [pods]}\n", "good.yaml": security + "defaults: {enforce: baseline}\n", "bad.yaml": security + "defaults: {enforce: hard}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ text, want string }{
		{head + "- name: PodSecurity\n  path: good.yaml\n", ""},
		{head + "- name: PodSecurity\n  path: " + dir + "/good.yaml\n", ""},
		{head + "- name: PodSecurity\n", ""},
		{head + "- name: PodSecurity\n  path: none.yaml\n", "admission.yaml: line 5: plugins[0].path: open " + dir + "/none.yaml"},
		{head + "- name: PodSecurity\n  path: bad.yaml\n", dir + "/bad.yaml: line 3: defaults.enforce: Invalid value: \"hard\""},
		{head + "- name: PodSecurity\n  configuration: {apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, defaults: {enforce: hard}}\n",
			"admission.yaml: plugins[0].configuration: line 5: defaults.enforce: Invalid value: \"hard\""},
		{head + "- name: Unknown\n", "admission.yaml: line 4: plugins[0].name: there is no plugin \"Unknown\""},
		{head + "- name: PodSecurity\n  path: good.yaml\n- name: PodSecurity\n", "admission.yaml: line 6: plugins[1].name: PodSecurity is there already"},
		{head + "- name: ResourceQuota\n", ""},
		{head + "- name: LimitRanger\n  path: good.yaml\n", "admission.yaml: line 4: plugins[0]: kx does not configure LimitRanger"},
		{head + "- name: ResourceQuota\n  path: limits.yaml\n", ""},
		{head + "- name: ResourceQuota\n  path: bad_limits.yaml\n", dir + "/bad_limits.yaml: line 4: limitedResources[0].resource: Required value"},
		{head + quotas + "      - {scopeName: PriorityClass, operator: In, values: [high]}\n", ""},
		{head + quotas + "      - {scopeName: Terminating}\n", ""},
		{head + quotas + "      - {scopeName: Priority}\n", "line 11: limitedResources[0].matchScopes[0].scopeName: Invalid value: \"Priority\": there is no such scope"},
		{head + quotas + "      - {scopeName: PriorityClass, operator: in}\n", "line 11: limitedResources[0].matchScopes[0].operator: Unsupported value: \"in\""},
		{head + quotas + "      - {scopeName: PriorityClass, operator: In}\n", "line 11: limitedResources[0].matchScopes[0].values: Required value"},
		{head + quotas + "      - {scopeName: PriorityClass, operator: Exists, values: [high]}\n", "line 11: limitedResources[0].matchScopes[0].values: Invalid value"},
		{head + "- name: ResourceQuota\n  path: good.yaml\n", "good.yaml: "},
		{head + "- title: PodSecurity\n", "admission.yaml: line 4: plugins[0].title: unknown field \"plugins[0].title\""},
		{"kind: AdmissionConfiguration\n", "admission.yaml: "},
	} {
		file := filepath.Join(dir, "admission.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		switch _, err := admission.New(withoutWebhooks(file)); {
		case err == nil && c.want != "":
			t.Errorf("%s: it was accepted", c.text)
		case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "--admission-control-config-file: ")):
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
}
