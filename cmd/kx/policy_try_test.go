package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// policyOf is a policy about all writes of some resources.
func policyOf(kind, name, resources, spec string) string {
	group, resource, _ := strings.Cut(resources, "/")
	return fmt.Sprintf("apiVersion: admissionregistration.k8s.io/v1\nkind: %s\nmetadata: {name: %s}\nspec:\n"+
		"  matchConstraints: {resourceRules: [{operations: [CREATE, UPDATE], apiGroups: [%q], apiVersions: ['*'], resources: [%s]}]}\n%s\n---\n",
		kind, name, group, resource, spec)
}

// bindingOf binds a validating policy.
func bindingOf(policy, name, spec string) string {
	return fmt.Sprintf("apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: %s}\nspec: {policyName: %s, %s}\n---\n",
		name, policy, spec)
}

const (
	validating = "ValidatingAdmissionPolicy"
	mutating   = "MutatingAdmissionPolicy"
	short      = "  validations: [{expression: 'object.metadata.name.size() < 5', messageExpression: \"object.metadata.name + ' is long'\"}]"
	withParams = "  paramKind: {apiVersion: v1, kind: ConfigMap}\n  validations: [{expression: 'object.metadata.name.size() < int(params.data.max)', message: too long}]"
)

const stored = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {team: blue}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: longer, namespace: other, labels: {team: red}}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: limits, namespace: limits}
data: {max: "4"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 3
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: web, image: registry.example.com/web}, {name: log, image: log}]}
`

// TestPolicyTry tries policies on objects of a server.
func TestPolicyTry(t *testing.T) {
	t.Parallel()
	m, dir := newMachine(t), t.TempDir()
	p := serve(t, "--data-dir", filepath.Join(dir, "data"))
	at := []string{"--kubeconfig", p.kubeconfig}
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	ask := func(args ...string) {
		t.Helper()
		if a := m.run("", append(args, at...)...); a.code != 0 {
			t.Fatalf("kx %s: %+v", strings.Join(args, " "), a)
		}
	}
	ask("create", "namespace", "other")
	ask("create", "namespace", "limits")
	ask("create", "-f", write("stored", stored))
	ask("create", "-f", "testdata/crontabs.yaml")
	ask("wait", "--for=condition=Established", "crd", "--all")
	ask("create", "-f", "testdata/crontab.yaml")

	denied := policyOf(validating, "short", "/configmaps", short)
	params := policyOf(validating, "most", "/configmaps", withParams)
	bound := bindingOf("most", "most", "validationActions: [Deny], paramRef: {name: limits, namespace: limits, parameterNotFoundAction: Deny}")
	for _, tt := range []struct {
		name, files, args string
		code              int
		want, not         []string
	}{
		{"denied", denied, "configmaps -A", exitFound, []string{
			"configmaps other/longer: refused\n  spec.validations[0] of short denies: longer is long", "configmaps limits/limits: refused",
			"objects: 3; that a policy is about: 3; refused: 2; warned of: 0; told to the audit log: 0; changed: 0",
		}, []string{"web"}},
		{"one namespace", denied, "cm -n default", 0, []string{"objects: 1; that a policy is about: 1; refused: 0"}, nil},
		{"by name", denied, "configmaps web", 0, []string{"objects: 1;"}, nil},
		{"by label", denied, "configmaps -A -l 'team in (blue, green)'", 0, []string{"objects: 1;"}, nil},
		{"all", denied, "configmaps --all", exitFound, nil, nil},
		{"warned of", denied + bindingOf("short", "soft", "validationActions: [Warn, Audit]"), "configmaps -A", 0, []string{
			"configmaps other/longer: warned of\n  spec.validations[0] of short bound by soft warns and tells the audit log: longer is long",
			"refused: 0; warned of: 2; told to the audit log: 2",
		}, []string{"\n  warning:"}},
		{"bound elsewhere", denied + bindingOf("short", "else", "validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: limits}}}"),
			"configmaps -A", exitFound, []string{"limits/limits: refused", "refused: 1;"}, []string{"other/longer"}},
		{"params of the server", params + bound, "configmaps -A", exitFound, []string{"other/longer: refused\n  spec.validations[0] of most denies: too long", "refused: 2;"}, nil},
		{"params of the files", params + bound + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits, namespace: limits}\ndata: {max: '7'}\n", "configmaps -A", 0,
			[]string{"refused: 0;"}, nil},
		{"no params", params + strings.Replace(bound, "name: limits", "name: nothing", 1), "configmaps -n default", exitFound, []string{
			"ValidatingAdmissionPolicy 'most' with binding 'most' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
		}, nil},
		{"an update", policyOf(validating, "same", "/configmaps", "  validations: [{expression: 'oldObject != null && object == oldObject'}]"), "configmaps -A", 0, []string{"refused: 0;"}, nil},
		{"a creation", policyOf(validating, "same", "/configmaps", "  validations: [{expression: 'oldObject != null'}]"), "configmaps web --operation=create", exitFound,
			[]string{"failed expression: oldObject != null"}, nil},
		{"who asks", policyOf(validating, "who", "/configmaps", "  validations: [{expression: \"request.userInfo.groups.exists(g, g == 'system:masters') && "+
			"authorizer.group('').resource('secrets').check('delete').allowed()\"}]"), "configmaps -A", 0, []string{"refused: 0;"}, nil},
		{"a condition", policyOf(validating, "c", "/configmaps", "  matchConditions: [{name: mine, expression: \"has(object.metadata.labels) && object.metadata.labels['team'] == 'red'\"}]\n"+
			"  validations: [{expression: 'false'}]"), "configmaps -A", exitFound, []string{"other/longer: refused", "refused: 1;"}, nil},
		{"audit annotations", policyOf(validating, "notes", "/configmaps", "  auditAnnotations: [{key: size, valueExpression: 'string(object.metadata.name.size())'}]"), "configmaps longer -n other", 0,
			[]string{"audit annotation notes/size: 6", "told to the audit log: 1"}, nil},
		{"changed", policyOf(mutating, "team", "apps/deployments", "  reinvocationPolicy: Never\n  mutations:\n  - patchType: ApplyConfiguration\n    applyConfiguration: {expression: "+
			"\"Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'log', workingDir: '/tmp'}]}}}}\"}\n"+
			"  - patchType: JSONPatch\n    jsonPatch: {expression: \"[JSONPatch{op: 'replace', path: '/spec/replicas', value: object.spec.replicas + 1}]\"}"), "deployments", 0,
			[]string{"deployments.apps default/shop: changed", "+ ", "workingDir", "/tmp", "changed: 1"}, []string{"- image"}},
		{"changed and denied", policyOf(mutating, "more", "/configmaps", "  reinvocationPolicy: Never\n  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: \"Object{metadata: Object.metadata{labels: {'size': 'big'}}}\"}}]") +
			policyOf(validating, "none", "/configmaps", "  validations: [{expression: \"object.metadata.labels['size'] != 'big'\", message: too big}]"), "configmaps web", exitFound,
			[]string{"configmaps default/web: refused, changed", "too big", "size"}, nil},
		{"custom resources", policyOf(validating, "cron", "stable.example.com/crontabs", "  validations: [{expression: \"object.metadata.name == 'other'\", message: not this one}]"), "crontabs -A", exitFound,
			[]string{"crontabs.stable.example.com default/mine: refused", "not this one"}, nil},
		{"about others", policyOf(validating, "secrets", "/secrets", "  validations: [{expression: 'false'}]"), "configmaps -A", 0, []string{"that a policy is about: 0;"}, nil},

		{"a mistake", policyOf(validating, "bad", "/configmaps", "  validations: [{expression: 'object.metadata.name +'}]"), "configmaps", 1,
			[]string{"spec.validations[0].expression: Invalid value", "Syntax error"}, nil},
		{"an unknown field", policyOf(validating, "bad", "/configmaps", "  validation: []"), "configmaps", 1, []string{"unknown field \"spec.validation\""}, nil},
		{"no policy", stored, "configmaps", 1, []string{"there is no policy in the files"}, nil},
		{"a policy elsewhere", bindingOf("away", "b", "validationActions: [Deny]"), "configmaps", 1, []string{"there is no policy"}, nil},
		{"another policy", denied + bindingOf("away", "b", "validationActions: [Deny]"), "configmaps", 1, []string{`the binding b is of the ValidatingAdmissionPolicy "away"`, "add its file with -f"}, nil},
		{"params unbound", params, "configmaps", 1, []string{"no binding says which: add a binding with -f"}, nil},
		{"a definition", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n", "configmaps", 1, []string{"kx storage what-if --crd"}, nil},
		{"nothing named", denied, "-A", 1, []string{"it names no resource", "write it like 'pods -A'"}, nil},
		{"unknown resource", denied, "nonsense", 1, []string{`the server doesn't have a resource type "nonsense"`}, nil},
		{"unknown words", denied, "pods --nonsense", 1, []string{"unknown flag: --nonsense"}, nil},
		{"open quote", denied, "pods -l 'a", 1, []string{"a quote ' is not closed"}, nil},
		{"only deletions", strings.Replace(denied, "CREATE, UPDATE", "DELETE", 1), "configmaps", 1, []string{"neither CREATE nor UPDATE"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			words, more := tt.args, []string{}
			if before, flag, found := strings.Cut(tt.args, " --operation="); found {
				words, more = before, []string{"--operation", flag}
			}
			if before, found := strings.CutSuffix(tt.args, " --all"); found {
				words, more = before+" -A", []string{"--all"}
				tt.want = append(tt.want, "configmaps default/web: let in")
			}
			file := write(strings.ReplaceAll(tt.name, " ", "-"), tt.files)
			a := m.run("", append(append([]string{"policy", "try", "-f", file, "--against", words}, more...), at...)...)
			said := a.out + a.err
			if a.code != tt.code {
				t.Errorf("exit code %d, want %d", a.code, tt.code)
			}
			for _, text := range tt.want {
				if !strings.Contains(said, text) {
					t.Errorf("it does not say %q", text)
				}
			}
			for _, text := range tt.not {
				if strings.Contains(said, text) {
					t.Errorf("it says %q", text)
				}
			}
			if tt.code == 1 && strings.Count(a.err, "kx: ") != 1 {
				t.Error("it is not one error")
			}
			if t.Failed() {
				t.Log(said)
			}
		})
	}

	t.Run("as the server does", func(t *testing.T) {
		files := denied + bindingOf("short", "short", "validationActions: [Deny]")
		var tried struct {
			Objects []struct{ Name, Refusal string }
			Summary struct{ Objects, Refused int }
		}
		a := m.run(files, append([]string{"policy", "try", "-f", "-", "--against", "configmaps -A", "-o", "json"}, at...)...)
		if err := json.Unmarshal([]byte(a.out), &tried); err != nil || a.code != exitFound || tried.Summary.Objects != 3 || tried.Summary.Refused != 2 || len(tried.Objects) != 2 {
			t.Fatalf("%+v, %v", a, err)
		}
		ask("create", "-f", write("install", files))
		until(t, "the policy holds", func() bool {
			return m.run("", append([]string{"label", "configmap", "longer", "-n", "other", "x=y", "--overwrite"}, at...)...).code != 0
		})
		for _, o := range tried.Objects {
			namespace := map[string]string{"longer": "other", "limits": "limits"}[o.Name]
			_, err := p.client(t).CoreV1().ConfigMaps(namespace).Patch(t.Context(), o.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"z"}}}`), metav1.PatchOptions{})
			if err == nil || err.Error() != o.Refusal {
				t.Errorf("%s: the server says %v, and the trial said %q", o.Name, err, o.Refusal)
			}
		}
	})
}
