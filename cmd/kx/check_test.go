package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// manifests writes files into a directory of their own and returns it.
func manifests(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	goodMap  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\ndata: {a: b}\n"
	goodApp  = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n" + goodPod
	goodPod  = "    metadata: {labels: {a: b}}\n    spec:\n      containers:\n      - name: x\n        image: x\n"
	cronTabs = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, minimum: 1, default: 3}}}}}}
`
	shortNames = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: short}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{operations: [CREATE, UPDATE], apiGroups: ['*'], apiVersions: ['*'], resources: [namespaces, configmaps]}]}
  validations: [{expression: 'object.metadata.name.size() < int(params.data.most)', messageExpression: "object.metadata.name + ' is long'"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: short}
spec: {policyName: short, validationActions: [Deny], paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}}
`
	teamLabels = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: team}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [''], apiVersions: ['*'], resources: [configmaps]}]}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'team': 'blue'}}}"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: team}
spec: {policyName: team}
`
	// labelled refuses objects of all kinds without a label.
	labelled = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: labelled}
spec:
  matchConstraints: {resourceRules: [{operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*']}]}
  validations: [{expression: "has(object.metadata.labels) && 'team' in object.metadata.labels", message: no team}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: labelled}
spec: {policyName: labelled, validationActions: [Deny]}
`
	converting = cronTabs + `  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object}}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://127.0.0.1:1/'}}}
`
	// shop is a namespace with a quota, and an object in it that can't change.
	shop = `apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: a}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fixed, namespace: shop, labels: {team: a}}
data: {a: b}
immutable: true
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: few, namespace: shop, labels: {team: a}}
spec: {hard: {count/configmaps: "2"}}
`
	// sized is a definition with two rules, and tagged a policy with a match condition.
	sized = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, default: 3}},
      x-kubernetes-validations: [{rule: 'self.size < 7', message: too large}, {message: never shrinks, reason: FieldValueInvalid, rule: self.size >= oldSelf.size}]}}}}
`
	tagged = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: devs}
spec:
  matchConstraints: {resourceRules: [{operations: ['*'], apiGroups: [example.com], apiVersions: ['*'], resources: ['*']}]}
  matchConditions: [{name: people, expression: "request.userInfo.username != 'kx-admin'"}]
  validations: [{expression: "'devs' in request.userInfo.groups", message: only devs}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: devs}
spec: {policyName: devs, validationActions: [Deny]}
`
	// everywhere has expressions in all places, each true and false once.
	everywhere = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          a.b: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: "self != 'x'"}]}
          spec:
            type: object
            properties:
              list: {type: array, maxItems: 9, items: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: "self != 'q'"}]}}
              map: {type: object, maxProperties: 9, additionalProperties: {type: integer, x-kubernetes-validations: [{rule: self > 0}]}}
              part:
                type: integer
                allOf: [{minimum: 1}]
                x-kubernetes-validations: [{rule: self > 1}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: team}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [example.com], apiVersions: ['*'], resources: [crontabs]}]}
  matchConditions: [{name: named, expression: "object.metadata.name != 'b'"}]
  variables: [{name: team, expression: "'blue'"}]
  mutations:
  - {patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'team': variables.team}}}"}}
  - {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/metadata/labels/x', value: 'z'}]"}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: team}
spec: {policyName: team}
---
apiVersion: kx.dev/v1alpha1
kind: Expectations
base: {apiVersion: example.com/v1, kind: CronTab, metadata: {name: a}}
rows:
- name: good
  object: {a.b: z, spec: {list: [z], map: {z: 1}, part: 2}}
  accepted: {metadata: {labels: {team: blue, x: z}}}
- name: bad
  object: {metadata: {name: b}, a.b: x, spec: {list: [q], map: {z: 0}, part: 1}}
  refused: 
  - failed rule
`
	expectations = "apiVersion: kx.dev/v1alpha1\nkind: Expectations\nbase: {apiVersion: example.com/v1, kind: CronTab, metadata: {name: a}}\nrows:\n"
	roleOfJane   = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: maps}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: jane}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: maps}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]
`
	oldTab = "apiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: old}\nspec: {size: 2}\n"
	// onlyTab defines a kind whose object has to be called one.
	onlyTab = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: onlies.example.com}
spec:
  group: example.com
  names: {plural: onlies, singular: only, kind: Only, listKind: OnlyList}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-validations: [{rule: self.metadata.name == 'one'}]}}
`
	hook = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: gate}
webhooks:
- name: gate.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  rules: [{operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*']}]
`
)

func shopMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: shop, labels: {team: a}}\n"
}

// checks are sets of manifests and what is said about them. FILE stands for the directory of the set.
var checks = []struct {
	name  string
	files map[string]string
	// args are those of kx check: the whole directory if there are none.
	args, stdin string
	code        int
	want, not   []string
}{
	{name: "good", files: map[string]string{"a.yaml": goodMap + "---\n" + goodApp}, want: []string{
		"documents: 2; accepted: 2; of these updated: 0; refused: 0; not checked: 0; warnings: 0\n"}, not: []string{"a.yaml"}},
	{name: "against manifests", files: map[string]string{"is/a.yaml": shop + "---\n" + goodApp + "---\n" + cronTabs + "---\n" + labelled, "is/z.yaml": oldTab + "---\n" + strings.ReplaceAll(oldTab, "CronTab", "Crontab"),
		"new/a.yaml": strings.Replace(shop, "{a: b}", "{a: c}", 1) + "---\n" + shopMap("one") + "---\n" + shopMap("two") + "---\n" + goodMap,
		"new/b.yaml": strings.ReplaceAll(goodApp, "{a: b}", "{a: c}") + "---\n" + strings.NewReplacer("minimum: 1, default: 3", "minimum: 9", "example.com}", "example.com, labels: {team: a}}").Replace(cronTabs)}, args: "--against DIR/is DIR/new", code: 1, want: []string{
		"DIR/new/a.yaml:8:1: ConfigMap shop/fixed: refused: data: Forbidden: field is immutable when `immutable` is set\n",
		"ConfigMap shop/two: refused: configmaps \"two\" is forbidden: exceeded quota: few, requested: count/configmaps=1, used: count/configmaps=2",
		"ConfigMap good: refused: configmaps \"good\" is forbidden: ValidatingAdmissionPolicy 'labelled' with binding 'labelled' denied request: no team\n",
		"DIR/new/b.yaml:5:3: Deployment web: refused: spec.selector: Invalid value", "field is immutable\n",
		"CustomResourceDefinition crontabs.example.com: warning: CronTab old is stored, and would be refused: spec.size: Invalid value: 2: ",
		"DIR/is/z.yaml:6:1: there, but not in the check: Crontab old: nothing there defines the kind in example.com/v1\n",
		"documents: 8; accepted: 4; of these updated: 3; refused: 4; "}, not: []string{"updated, as", "shop/one"}},
	{name: "against the only object that there may be", files: map[string]string{"is/a.yaml": onlyTab + "---\napiVersion: example.com/v1\nkind: Only\nmetadata: {name: one}\n",
		"new/a.yaml": strings.Replace(onlyTab, "example.com}", "example.com, labels: {team: a}}", 1)}, args: "--strict --against DIR/is DIR/new", want: []string{
		"documents: 1; accepted: 1; of these updated: 1; refused: 0; not checked: 0; warnings: 0"}, not: []string{"would be refused"}},
	{name: "a key that is called like a class", files: map[string]string{"a.yaml": strings.Replace(goodMap, "data: {", "data: {storageClassName: fast, ", 1)}, want: []string{
		"accepted: 1;"}, not: []string{"fast"}},
	{name: "against nothing", files: map[string]string{"a.yaml": goodMap}, args: "--against DIR/none DIR", code: 2, want: []string{"there is no such file"}},
	{name: "against what can't be read", files: map[string]string{"is/a.yaml": "a: [", "new/a.yaml": goodMap}, args: "--against DIR/is DIR/new", code: 2, want: []string{
		"read what is there already: DIR/is/a.yaml:", "this is no YAML"}},
	{name: "all", files: map[string]string{"a.yaml": goodMap}, args: "--all DIR", want: []string{"DIR/a.yaml:1:1: ConfigMap good: accepted\n"}},
	{name: "warnings", files: map[string]string{"a.yaml": "# first\n---\n" + goodApp + "        imag: y\n        name: x\n  replica: 1\n"}, want: []string{
		"DIR/a.yaml:14:9: Deployment web: warning: unknown field \"spec.template.spec.containers[0].imag\"\n",
		"DIR/a.yaml:15:9: Deployment web: warning: key \"name\" already set in map\n",
		"DIR/a.yaml:16:3: Deployment web: warning: unknown field \"spec.replica\"\n", "accepted: 1;", "warnings: 3\n"}},
	{name: "strict", files: map[string]string{"a.yaml": goodApp + "  replica: 1\n"}, args: "--strict DIR", code: 1, want: []string{
		"DIR/a.yaml:12:3: Deployment web: refused: unknown field \"spec.replica\"\n", "refused: 1;"}},
	{name: "fields", files: map[string]string{"a.yaml": strings.Replace(goodApp, "image: x\n", "ports: [{containerPort: 80}, {containerPort: 99999}]\n", 1)}, code: 1, want: []string{
		"DIR/a.yaml:10:9: Deployment web: refused: spec.template.spec.containers[0].image: Required value\n",
		"DIR/a.yaml:11:39: Deployment web: refused: spec.template.spec.containers[0].ports[1].containerPort: Invalid value: 99999: must be between 1 and 65535, inclusive\n"}},
	{name: "keys with dots", files: map[string]string{"a.yaml": goodApp[:len("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web")] + ", labels: {app.kubernetes.io/name: 'a b', x: z}}\n" +
		goodApp[strings.Index(goodApp, "spec:"):]}, code: 1, want: []string{"DIR/a.yaml:3:23: Deployment web: refused: metadata.labels: Invalid value: \"a b\""}},
	{name: "types", files: map[string]string{"a.yaml": strings.Replace(goodApp, "spec:\n", "spec:\n  replicas: three\n", 1), "b.yaml": strings.Replace(goodMap, "{a: b}", "\n  a: b\n  c: 1", 1),
		"c.yaml": strings.Replace(goodApp, "image: x", "image: y", 1)}, code: 1, want: []string{
		"DIR/a.yaml:5:3: Deployment web: refused: ", "cannot unmarshal string into", "DIR/b.yaml:6:3: ConfigMap good: refused: ", "DIR/c.yaml:11:9: Deployment web: refused: ", "cannot unmarshal bool"}},
	{name: "texts of types", files: map[string]string{
		"a.yaml": strings.Replace(goodApp, "        image: x\n", "        image: x\n        resources:\n          limits: {cpu: 1}\n          requests:\n            memory: 1Gib\n", 1),
		"b.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  a: YQ==\n  b: '?'\n", "c.yaml": strings.Replace(goodMap, "good}", "good, creationTimestamp: yesterday}", 1),
		"e.yaml": "apiVersion: v1\nkind: LimitRange\nmetadata: {name: r}\nspec:\n  limits:\n  - &a {type: Pod, max: &b {cpu: 1}}\n  - {<<: *a, min: *b}\n  - type: Pod\n    max: {<<: [{memory: 1 Gi}, *b]}\n"},
		code: 1, want: []string{"DIR/a.yaml:15:13: Deployment web: refused: ", "quantities must match", "DIR/b.yaml:6:3: Secret s: refused: ", "illegal base64 data",
			"DIR/c.yaml:3:24: ConfigMap good: refused: ", "parsing time \"yesterday\"", "DIR/e.yaml:9:17: LimitRange r: refused: "}},
	{name: "definition after its object", files: map[string]string{
		"a.yaml": "apiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: a}\nspec:\n  size: 0\n---\napiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: b}\nspec: {sice: 1}\n", "b.yaml": cronTabs}, code: 1, want: []string{
		"DIR/a.yaml:5:3: CronTab a: refused: spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1\n",
		"DIR/a.yaml:10:8: CronTab b: warning: unknown field \"spec.sice\"\n", "accepted: 2;"}},
	{name: "definition refused", files: map[string]string{"a.yaml": strings.Replace(cronTabs, "scope: Namespaced", "scope: Everywhere", 1)}, code: 1, want: []string{
		"DIR/a.yaml:6:3: CustomResourceDefinition crontabs.example.com: refused: spec.scope: "}},
	{name: "names taken", files: map[string]string{"a.yaml": cronTabs + "---\n" + strings.ReplaceAll(cronTabs, "crontabs", "crons")}, code: 1, want: []string{
		"refused: the definition is not served: ", "accepted: 1;"}},
	{name: "no definition", files: map[string]string{"a.yaml": "apiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: a}\n"}, code: 1, want: []string{
		"DIR/a.yaml:1:1: CronTab a: refused: no matches for kind \"CronTab\" in version \"example.com/v1\": add its CustomResourceDefinition to the set\n",
		"DIR/a.yaml:2:1: not in the set: the definition of CronTab in example.com/v1\n"}},
	{name: "near", files: map[string]string{"a.yaml": strings.Replace(goodApp, "Deployment", "Deploymnt", 1) + "---\n" + strings.Replace(goodApp, "apps/v1", "extensions/v1beta1", 1)}, code: 1, want: []string{
		"DIR/a.yaml:2:1: Deploymnt web: refused: no matches for kind \"Deploymnt\" in version \"apps/v1\": did you mean Deployment?\n", "it is served in apps/v1\n"}},
	{name: "namespaces", files: map[string]string{"a.yaml": strings.Replace(goodMap, "good}", "good, namespace: shop}", 1), "b.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {a: b}}\n"}, want: []string{
		"DIR/a.yaml:3:24: assumed, as documents refer to it: Namespace shop\n", "DIR/b.yaml:1:1: Namespace default: updated, as the object is there already: the server's own\n"}},
	{name: "pod security", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: safe, labels: {pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/warn: restricted}}\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: safe}\nspec: {containers: [{name: a, image: b}]}\n---\n" + strings.Replace(goodApp, "{name: web}", "{name: web, namespace: safe}", 1)}, code: 1, want: []string{
		"Pod safe/p: refused: pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\"", "Deployment safe/web: warning: would violate PodSecurity"}},
	{name: "policies", files: map[string]string{"a.yaml": goodMap + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits}\ndata: {most: '8'}\n---\n" + strings.Replace(goodMap, "good", "much-too-long", 1) +
		"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: long-namespace}\n", "z.yaml": shortNames}, code: 1, want: []string{
		"ConfigMap much-too-long: refused: configmaps \"much-too-long\" is forbidden: ValidatingAdmissionPolicy 'short' with binding 'short' denied request: much-too-long is long\n",
		"Namespace long-namespace: refused: ", "accepted: 4;", "refused: 2;"}},
	{name: "changes", files: map[string]string{"a.yaml": goodMap, "b.yaml": cronTabs, "c.yaml": "apiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: a}\nspec: {}\n", "z.yaml": teamLabels}, args: "--show-changes DIR", want: []string{
		"DIR/a.yaml:1:1: ConfigMap good: changed\n", "+     team: blue", "CronTab a: changed\n", "+   size: 3", "accepted: 5;"}, not: []string{"uid", "managedFields", "resourceVersion"}},
	{name: "secret changes", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n"}, args: "--show-changes DIR", want: []string{"Secret s: changed\n", "Opaque"},
		not: []string{"hunter2", "aHVudGVyMg"}},
	{name: "webhooks", files: map[string]string{"a.yaml": goodMap + "---\n" + hook, "b.yaml": cronTabs + "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://127.0.0.1:1/'}}}\n",
		"c.yaml": "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.other.example.com}\nspec: {group: other.example.com, version: v1, groupPriorityMinimum: 1, versionPriority: 1, service: {name: a, namespace: b}}\n",
		"d.yaml": "apiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: a}\n"}, want: []string{
		"DIR/a.yaml:6:1: not asked: ValidatingWebhookConfiguration gate\n", "DIR/b.yaml:1:1: not asked: CustomResourceDefinition crontabs.example.com\n", "not asked: APIService v1.other.example.com\n", "accepted: 5;"}},
	{name: "quota", files: map[string]string{"a.yaml": goodMap + "---\n" + strings.Replace(goodMap, "good", "second", 1), "q.yaml": "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {count/configmaps: 1}}\n"}, code: 1, want: []string{
		"DIR/a.yaml:6:1: ConfigMap second: refused: configmaps \"second\" is forbidden: exceeded quota: few, requested: count/configmaps=1, used: count/configmaps=1, limited: count/configmaps=1\n", "accepted: 2;"}},
	{name: "twice", files: map[string]string{"a.yaml": strings.Replace(goodMap, "\ndata:", "\nimmutable: true\ndata:", 1) + "---\n" + strings.Replace(goodMap, "good", "other", 1), "b.yaml": strings.Replace(goodMap, "{a: b}", "{a: c}", 1) + "---\n" +
		strings.Replace(goodMap, "good", "other", 1)}, code: 1, want: []string{
		"DIR/b.yaml:4:1: ConfigMap good: refused: data: Forbidden: field is immutable when `immutable` is set\n", "DIR/b.yaml:6:1: ConfigMap other: updated, as the object is there already: DIR/a.yaml:7:1\n", "of these updated: 1;"}},
	{name: "ports", files: map[string]string{"a.yaml": service("a") + "---\n" + service("b") + "---\n" + service("c")}, code: 1, want: []string{
		"DIR/a.yaml:13:22: Service b: refused: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated\n", "Service c: refused: ", "refused: 2;"}},
	{name: "pods", files: map[string]string{"a.yaml": pod("a", "priorityClassName: system-node-critical") + pod("b", "serviceAccountName: none") + pod("c", "runtimeClassName: gvisor") + pod("d", "priorityClassName: mine"),
		"z.yaml": "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: mine}\nvalue: 5\n"}, code: 1, want: []string{
		"Pod b: refused: pods \"b\" is forbidden: error looking up service account default/none: serviceaccount \"none\" not found\n", "Pod c: refused: ", "DIR/a.yaml:14:8: not in the set: RuntimeClass gvisor\n", "accepted: 3;"}},
	{name: "classes", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec:\n  accessModes: [ReadWriteOnce]\n  storageClassName: fast\n  resources: {requests: {storage: 1Gi}}\n"}, want: []string{
		"DIR/a.yaml:6:3: not in the set: StorageClass fast\n", "accepted: 1;"}},
	{name: "deprecated", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: Endpoints\nmetadata: {name: a}\n"}, want: []string{"DIR/a.yaml:1:1: Endpoints a: warning: v1 Endpoints is deprecated"}},
	{name: "generated names", files: map[string]string{"a.yaml": strings.Repeat("apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n---\n", 2)}, want: []string{"accepted: 2; of these updated: 0;"}},
	{name: "lists", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: &m {name: a}\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: *m\n  data: {a: no}\n- 1\n"}, code: 2, want: []string{
		"DIR/a.yaml:10:10: ConfigMap a: refused: ", "cannot unmarshal bool", "DIR/a.yaml:11:3: document: not checked: this item is no object", "accepted: 1;"}},
	{name: "JSON", files: map[string]string{"a.json": "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"a\"},\n\t\"dat\": {}\n} {\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"B\"}}\n", "b.json": "{\n  \"a\": 1,,\n}\n",
		"c.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n"}, code: 2, want: []string{
		"DIR/a.json:5:2: ConfigMap a: warning: unknown field \"dat\"\n", "DIR/a.json:6:58: ConfigMap B: refused: metadata.name: ", "DIR/b.json:2:10: document: not checked: this is no JSON: ", "accepted: 2;"}},
	{name: "broken", files: map[string]string{"a.yaml": goodMap + "---\napiVersion: v1\n  kind: x\n---\n" + strings.Replace(goodMap, "good", "last", 1), "b.yaml": "metadata:\n  name: {{ .Release.Name }}\n", "c.yaml": "{{- if .Values.x }}\na: b\n{{ end }}\n",
		"d.yaml": "a: b\n", "e.yaml": "\x00\x01", "f.yaml": "- 1\n", "g.yaml": "# only a comment\n---\n---\n"}, args: "DIR DIR/nothing.yaml", code: 2, want: []string{
		"DIR/a.yaml:7:1: document: not checked: this is no YAML: ", "DIR/b.yaml:2:9: document: not checked: {{ begins an expression of helm", "DIR/c.yaml:1:1: document: not checked: {{ begins", "helm template CHART | kx check -",
		"DIR/d.yaml:1:1: document: not checked: the document has no apiVersion and kind", "DIR/e.yaml:1:1: document: not checked: the file has bytes that are no text", "DIR/f.yaml:1:1: document: not checked: this is no object",
		"DIR/nothing.yaml:1:1: document: not checked: the file can't be read: no such file or directory", "documents: 9; accepted: 2;"}, not: []string{"/g.yaml"}},
	{name: "braces that are text", files: map[string]string{"a.yaml": strings.Replace(goodMap, "{a: b}", "{a: '{{ $labels.x }}'}", 1)}, want: []string{"accepted: 1;"}},
	{name: "helm", args: "--all -", stdin: "---\n# Source: shop/templates/map.yaml\n" + goodMap + "---\n# Source: shop/templates/bad.yaml\n" + strings.Replace(goodMap, "\ndata:", "\ndat:", 1), want: []string{
		"stdin:3:1: ConfigMap good: accepted (of shop/templates/map.yaml)\n", "stdin:12:1: ConfigMap good: warning: unknown field \"dat\" (of shop/templates/bad.yaml)\n"}},
	{name: "charts and kustomizations", files: map[string]string{"chart/Chart.yaml": "apiVersion: v2\nname: a\n", "chart/templates/a.yaml": "{{ x }}", "k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": goodMap, ".hidden/a.yaml": "x", "a.txt": "x"}, want: []string{
		"DIR/chart:1:1: left out: a chart, which is not rendered here: helm template DIR/chart | kx check -\n", "DIR/k/kustomization.yaml:1:1: left out: a kustomization, which is not built here: kx check -k DIR/k\n", "documents: 1; accepted: 1;"}},
	{name: "kustomize", files: map[string]string{"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": goodMap + "---\n" + strings.Replace(goodApp, "image: x", "imag: x", 1),
		"over/kustomization.yaml": "resources: [../base]\nnamePrefix: my-\nconfigMapGenerator: [{name: made, literals: [a=b]}]\n"}, args: "--all -k DIR/over", code: 1, want: []string{
		"DIR/base/a.yaml:1:1: ConfigMap my-good: accepted\n", "DIR/base/a.yaml:15:9: Deployment my-web: refused: spec.template.spec.containers[0].image: Required value\n",
		"DIR/base/a.yaml:16:9: Deployment my-web: warning: unknown field \"spec.template.spec.containers[0].imag\"\n", "DIR/over/kustomization.yaml:1:1: ConfigMap my-made-", "documents: 3;"}},
	{name: "kustomize with options", files: map[string]string{"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": goodMap + "dat: {}\n", "over/kustomization.yaml": "{resources: [../base], buildMetadata: [managedByLabel]}\n"}, args: "-o json --show-changes -k DIR/over", want: []string{
		"\"file\": \"DIR/base/a.yaml\"", "\"line\": 5", "\"app.kubernetes.io/managed-by\": \"kustomize"}, not: []string{"config.kubernetes.io/origin"}},
	{name: "kustomize cycle", files: map[string]string{"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [../a]\n", "m.yaml": goodMap}, args: "DIR/m.yaml -k DIR/a -k DIR/none", code: 2, want: []string{
		"DIR/a:1:1: document: not checked: kustomize can't build it: ", "cycle detected", "kx kustomize DIR/a builds it alone", "DIR/none:1:1: document: not checked: ", "accepted: 1;"}},
	{name: "objects of a refused definition", files: map[string]string{"a.yaml": strings.Replace(cronTabs, "scope: Namespaced", "scope: Everywhere", 1) + "---\napiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: a}\n"}, code: 1, want: []string{
		"DIR/a.yaml:14:1: CronTab a: refused: no matches for kind \"CronTab\" in version \"example.com/v1\": its CustomResourceDefinition is refused: DIR/a.yaml:1:1\n", "refused: 2;"}, not: []string{"not in the set"}},
	{name: "a converting definition that occurs twice", files: map[string]string{"a.yaml": converting + "---\n" + converting + "---\napiVersion: example.com/v2\nkind: CronTab\nmetadata: {name: a}\n"}, want: []string{
		"DIR/a.yaml:19:1: CustomResourceDefinition crontabs.example.com: updated, as the object is there already: DIR/a.yaml:1:1\n", "accepted: 3;"}, not: []string{"conversion webhook"}},
	{name: "a definition whose second version is refused", files: map[string]string{"a.yaml": cronTabs + "---\n" + strings.NewReplacer("scope: Namespaced", "scope: Everywhere", "name: v1", "name: v2").Replace(cronTabs)}, code: 1, want: []string{
		"DIR/a.yaml:19:3: CustomResourceDefinition crontabs.example.com: refused: spec.scope: "}, not: []string{"is not served"}},
	{name: "refusals count once under policies", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  labels: {a: 'b c'}\n", "z.yaml": teamLabels}, args: "-o github DIR", code: 1, want: []string{
		"refused::metadata.labels: Invalid value: \"b c\"", "\ndocuments: 4; accepted: 3;"}, not: []string{"\n::error"}},
	{name: "a policy that fails for the objects of others", files: map[string]string{"a.yaml": strings.Replace(goodMap, "{a: b}", "{team: red}", 1) + "---\n" + strings.Replace(goodMap, "good", "bad", 1), "z.yaml": strings.NewReplacer("'blue'", "object.data.team",
		"apiGroups: ['']", "apiGroups: ['*']", "resources: [configmaps]", "resources: ['*']").Replace(teamLabels)}, code: 1, want: []string{
		"DIR/a.yaml:6:1: ConfigMap bad: refused: policy 'team' with binding 'team' denied request: ", "accepted: 3;"}},
	{name: "policies and what the check makes", files: map[string]string{"a.yaml": strings.Replace(pod("a", "priorityClassName: system-node-critical"), "name: a}", "name: a, labels: {team: red}}", 1), "z.yaml": labelled}, want: []string{"accepted: 3;"}},
	{name: "a quota of accounts and roles", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: b}\n", "q.yaml": "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {count/serviceaccounts: 1}}\n"}, code: 1, want: []string{
		"DIR/a.yaml:5:1: ServiceAccount b: refused: serviceaccounts \"b\" is forbidden: exceeded quota: few"}},
	{name: "a cluster's object with a namespace", files: map[string]string{"a.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: []\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r, namespace: foo}\nrules: []\n"}, want: []string{
		"DIR/a.yaml:6:1: ClusterRole foo/r: updated, as the object is there already: DIR/a.yaml:1:1\n"}},
	{name: "rules of the whole and of a field", files: map[string]string{"a.yaml": strings.Replace(cronTabs, "{type: object, properties: {spec: {type: object,", "{type: object, x-kubernetes-validations: [{rule: 'self.spec.size < 3', message: whole}], properties: {spec: {type: object, x-kubernetes-validations: [{rule: 'self.size < 2', message: part}],", 1) +
		"---\napiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: a}\nspec: {size: 5}\n"}, code: 1, want: []string{
		"DIR/a.yaml:14:1: CronTab a: refused: Invalid value: whole\n", "DIR/a.yaml:17:1: CronTab a: refused: spec: Invalid value: part\n"}},
	{name: "JSON that is no YAML", files: map[string]string{"a.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"\ud83d\ude00` + "\x7f" + `"}} {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"a":"éé"},` + "\"dat\":{}}\n" +
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"é"},` + ",}"}, code: 2, want: []string{
		"DIR/a.json:1:173: ConfigMap b: warning: unknown field \"dat\"\n", "DIR/a.json:2:63: document: not checked: this is no JSON: ", "accepted: 2;"}},
	{name: "ends of documents", files: map[string]string{"a.yaml": "---\t\n" + goodMap + "...\n" + strings.Replace(goodMap, "good", "second", 1) + "...\n# done\n"}, args: "--all DIR", want: []string{
		"DIR/a.yaml:2:1: ConfigMap good: accepted\n", "DIR/a.yaml:7:1: ConfigMap second: accepted\n", "documents: 2;"}},
	{name: "carriage returns alone", files: map[string]string{"a.yaml": strings.ReplaceAll(goodMap+"---\n"+goodMap+"dat: {}\n", "\n", "\r")}, want: []string{"DIR/a.yaml:10:1: ConfigMap good: warning: unknown field \"dat\"\n", "documents: 2;"}},
	{name: "text that looks like a directive", files: map[string]string{"a.yaml": "%YAML 1.1\n---\n" + strings.Replace(goodMap, "{name: good}", "\n  name: \"x\n%y\"", 1)}, code: 1, want: []string{"DIR/a.yaml:6:3: ConfigMap x %y: refused: metadata.name: Invalid value: \"x %y\""}},
	{name: "keys that occur twice", files: map[string]string{"a.yaml": "# first\n---\n" + strings.Replace(goodMap, "{a: b}", "{a: b}\n\"c\\\"d\": e\n\"c\\\"d\": f\n1: a\n1: b\nyes: a\nyes: b", 1), "b.yaml": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n" +
		"  metadata: {name: a, labels: {a: b, # first\n    a: c}}\n  spec:\n    ports:\n    - {name: a,\n\n      port: 80, port: 81}\n    - name: b\n      port: 80\n      port: 82\n"}, want: []string{
		"DIR/a.yaml:8:1: ConfigMap good: warning: unknown field \"c\\\"d\"\n", "DIR/a.yaml:8:1: ConfigMap good: warning: key \"c\\\"d\" already set in map\n", "DIR/a.yaml:10:1: ConfigMap good: warning: key 1 already set in map\n", "DIR/a.yaml:12:1: ConfigMap good: warning: key true already set in map\n",
		"DIR/b.yaml:7:5: Service a: warning: key \"a\" already set in map\n", "DIR/b.yaml:12:17: Service a: warning: key \"port\" already set in map\n", "DIR/b.yaml:15:7: Service a: warning: key \"port\" already set in map\n"}},
	{name: "custom kinds with names of built-in ones", files: map[string]string{"a.yaml": "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\n---\napiVersion: example.com/v1\nkind: Tab\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Deployment\nmetadata: {name: a}\n", "b.yaml": cronTabs}, code: 1, want: []string{
		"DIR/a.yaml:1:1: Service a: refused: no matches for kind \"Service\" in version \"serving.knative.dev/v1\": add its CustomResourceDefinition to the set\n", "DIR/a.yaml:2:1: not in the set: the definition of Service in serving.knative.dev/v1\n",
		"DIR/a.yaml:6:1: not in the set: the definition of Tab in example.com/v1\n", "no matches for kind \"Deployment\" in version \"v1\": it is served in apps/v1\n"}},
	{name: "braces beside an error", files: map[string]string{"a.yaml": strings.Replace(goodMap, "{a: b}", "\n  a: '{{ $labels.x }}'\n  c: d\n\n\n  e: f: g", 1)}, code: 2, want: []string{"DIR/a.yaml:9:1: document: not checked: this is no YAML: mapping values are not allowed in this context"}},
	{name: "lines of errors", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a\ndata: {}\n---\n" + goodMap + "a: [*b]\n"}, code: 2, want: []string{
		"DIR/a.yaml:3:1: document: not checked: this is no YAML: did not find expected ',' or '}'", "DIR/a.yaml:10:5: document: not checked: this is no YAML: unknown anchor 'b' referenced"}},
	{name: "lists of lists and of one kind", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMapList\n  items:\n  - metadata: {name: a}\n  - apiVersion: v1\n    kind: Secret\n    metadata: {name: b}\n---\napiVersion: v1\nkind: List\nitems:\n"}, args: "--all DIR", want: []string{
		"DIR/a.yaml:7:5: ConfigMap a: accepted\n", "DIR/a.yaml:8:5: Secret b: accepted\n", "documents: 2; accepted: 2;"}},
	{name: "merged lists of anchors", files: map[string]string{"a.yaml": strings.Replace(goodApp, "spec:\n", "x-a: &a {terminationMessagePath: x}\nx-b: &b {imag: y}\nspec:\n", 1) + "        <<: [*a, *b]\n"}, want: []string{
		"DIR/a.yaml:5:10: Deployment web: warning: unknown field \"spec.template.spec.containers[0].imag\"\n"}},
	{name: "line separators in text", files: map[string]string{"a.yaml": strings.Replace(goodMap, "{a: b}", "{a: \"b\u2028c\u2029d\u0085e\"}\ndat: {}", 1)}, want: []string{"DIR/a.yaml:5:1: ConfigMap good: warning: unknown field \"dat\"\n"}},
	{name: "a namespace that can't be", files: map[string]string{"a.yaml": strings.Replace(goodMap, "good}", "good, namespace: Bad_One}", 1)}, code: 1, want: []string{"DIR/a.yaml:3:24: ConfigMap Bad_One/good: refused: namespaces \"Bad_One\" not found\n"}},
	{name: "a flag that is none", args: "--nothing DIR", code: 2, want: []string{"unknown flag: --nothing (kx help check says how it is used)"}},
	{name: "nothing there", files: map[string]string{"a.txt": "x"}, code: 2, want: []string{"there is no manifest in what was named"}},
	{name: "expectations", files: map[string]string{"a.yaml": sized + "---\n" + tagged, "z.yaml": expectations + `- {name: defaults, object: {spec: {}}, accepted: {spec: {size: 3}}}
- {name: nothing is changed, object: {spec: {size: 4}}, accepted: {}}
- {name: too large, object: {spec: {size: 9}}, refused: "spec: Invalid value: too large"}
- {name: shrinks, old: {spec: {size: 5}}, object: {spec: {size: 4}}, refused: never shrinks}
- {name: grows, old: {spec: {size: 5}}, object: {spec: {size: 6}}, accepted: true}
- {name: what was allowed once, old: {spec: {size: 9}}, object: {spec: {size: 9}, metadata: {labels: {a: b}}}, accepted: true, warnings: too large}
- {name: by another, as: {user: joe}, object: {spec: {size: 4}}, refused: only devs}
- {name: by a dev, as: {user: jane, groups: [devs]}, accepted: true}
- {name: deletes, operation: delete, as: {user: joe}, old: {spec: {size: 9}}, refused: only devs}
- {name: typo, object: {spec: {sice: 4}}, accepted: true, warnings: [unknown field "spec.sice"]}
- {name: a file, object: part.yml, refused: too large}
`, "part.yml": "apiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: a}\nspec: {size: 8}\n"}, args: "--all DIR/a.yaml DIR/z.yaml", want: []string{
		"DIR/z.yaml:5:3: \"defaults\", CronTab a: as expected\n", "DIR/z.yaml:15:3: \"a file\", CronTab a: as expected\n",
		"DIR/z.yaml:11:3: assumed, as documents refer to it: all rights of the user joe\n", "rows: 11; not as expected: 0; written: 0; expressions: 4; covered: 4\n"}, not: []string{"never"}},
	{name: "expectations that fail", files: map[string]string{"a.yaml": sized, "z.yaml": expectations + `- {name: defaults, object: {spec: {}}, accepted: {spec: {size: 4}}}
- name: too large
  object: {spec: {size: 9}}
  refused:
  - too small
- {name: is refused, object: {spec: {size: 9}}, accepted: true}
- {name: is accepted, object: {spec: {size: 1}}, refused: too large}
- {name: says nothing, object: {spec: {size: 1}}}
- {object: {spec: {sice: 1}}, accepted: true}
- {name: nothing there, operation: update, accepted: true}
- {name: unknown kind, object: {kind: Other}, accepted: true}
`}, code: 2, want: []string{
		"DIR/z.yaml:5:58: \"defaults\", CronTab a: not as expected: spec.size: want 4, got 3\n",
		"DIR/z.yaml:9:5: \"too large\", CronTab a: not as expected: want the refusal \"too small\", got \"spec: Invalid value: too large\"\n",
		"DIR/z.yaml:10:49: \"is refused\", CronTab a: not as expected: want accepted, got refused: spec: Invalid value: too large\n",
		"\"is accepted\", CronTab a: not as expected: want refused, got accepted\n", "\"says nothing\", CronTab a: not as expected: the row expects nothing, and is accepted: --update-expect writes that into it\n",
		"DIR/z.yaml:13:3: \"row 6\", CronTab a: not as expected: want no other warning, got \"unknown field \\\"spec.sice\\\"\"\n",
		"\"nothing there\", CronTab a: not checked: there is nothing to update: ", "want accepted, got refused: no matches for kind \"Other\"",
		"DIR/a.yaml:13:131: never evaluated: CustomResourceDefinition crontabs.example.com: self.size >= oldSelf.size\n", "rows: 8; not as expected: 7; written: 0; expressions: 2; covered: 1\n"}},
	{name: "expectations with mistakes", files: map[string]string{"a.yaml": sized, "z.yaml": expectations + `- {name: a, object: {}, refuse: x}
- {name: b, object: {}, operation: delte}
- {name: c, object: {}, accepted: true, refused: x}
- {name: d, object: {}, accepted: false}
- {name: e, object: none.yaml, accepted: true}
- {name: f, as: {groups: [a]}, accepted: true}
- {name: g, operation: create, old: {}, accepted: true}
`, "y.yaml": "apiVersion: kx.dev/v1\nkind: Expectations\nrow: []\n", "x.yaml": "apiVersion: kx.dev/v1alpha1\nkind: Expectation\n"}, code: 2, want: []string{
		"DIR/z.yaml:5:25: Expectations: not checked: a row has no field \"refuse\": did you mean refused?\n", "DIR/z.yaml:6:36: Expectations: not checked: there is no operation \"delte\": use delete\n",
		"DIR/z.yaml:7:41: Expectations: not checked: a row expects accepted or refused, not both\n", "DIR/z.yaml:8:35: Expectations: not checked: accepted has to be true, or ",
		"DIR/z.yaml:9:21: Expectations: not checked: DIR/none.yaml:1:1: the file can't be read: no such file", "as needs the name of a user", "a row that creates has no old object",
		"DIR/y.yaml:1:1: Expectations: not checked: a document of expectations has the apiVersion kx.dev/v1alpha1\n", "DIR/y.yaml:3:1: Expectations: not checked: a document of expectations has no field \"row\": did you mean rows?\n",
		"Expectation: refused: no matches for kind \"Expectation\" in version \"kx.dev/v1alpha1\": did you mean Expectations?\n"}},
	{name: "coverage of all places", files: map[string]string{"a.yaml": everywhere}, want: []string{"rows: 2; not as expected: 0; written: 0; expressions: 8; covered: 8\n"}},
	{name: "expectations with roles", files: map[string]string{"a.yaml": roleOfJane, "z.yaml": "apiVersion: kx.dev/v1alpha1\nkind: Expectations\nbase: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\nas: {user: jane}\nrows:\n" +
		"- {name: creates, accepted: true}\n- {name: deletes, operation: delete, old: {}, refused: 'User \"jane\" cannot delete resource \"configmaps\"'}\n"}, want: []string{
		"rows: 2; not as expected: 0; "}, not: []string{"all rights"}},
	{name: "coverage counts documents and rows alone", files: map[string]string{"a.yaml": labelled + "---\n" + strings.Replace(goodMap, "good}", "good, labels: {team: a}}", 1), "z.yaml": "apiVersion: kx.dev/v1alpha1\nkind: Expectations\nrows: []\n"}, args: "-o json DIR", want: []string{
		`"path": "spec.validations[0].expression"`, `"true": 1,`, `"false": 0,`, `"errors": 0,`}},
	{name: "nothing named", args: " ", code: 2, want: []string{"nothing to check: name files or directories"}},
}

func service(name string) string {
	return "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec:\n  type: NodePort\n  ports: [{port: 80, nodePort: 30080}]\n"
}

func pod(name, spec string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {" + spec + ", containers: [{name: a, image: b}]}\n---\n"
}

// TestCheck checks manifests, good and bad.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range checks {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, dir := newMachine(t), manifests(t, tt.files)
			args := tt.args
			if args == "" {
				args = "DIR"
			}
			a := m.run(tt.stdin, append([]string{"check"}, strings.Fields(strings.ReplaceAll(args, "DIR", dir))...)...)
			said := strings.ReplaceAll(a.out+a.err, dir, "DIR")
			if a.code != tt.code {
				t.Errorf("exit code %d, want %d", a.code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(said, not) {
					t.Errorf("it says %q", not)
				}
			}
			if t.Failed() {
				t.Log(said)
			}
			if left, _ := os.ReadDir(m.home); len(left) > 0 {
				t.Errorf("it left %v in the home directory", left)
			}
		})
	}
}

// TestCheckLinks checks directories that are reached by symbolic links.
func TestCheckLinks(t *testing.T) {
	t.Parallel()
	dir := manifests(t, map[string]string{"real/a.yaml": goodMap, "tree/b.yaml": goodMap})
	for link, target := range map[string]string{"link": "real", "tree/in": "../real", "tree/loop": "."} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	a := newMachine(t).run("", "check", "--all", filepath.Join(dir, "link"), filepath.Join(dir, "tree"))
	said := strings.ReplaceAll(a.out, dir, "DIR")
	for _, want := range []string{
		"DIR/link/a.yaml:1:1: ConfigMap good: accepted\n", "DIR/tree/in:1:1: left out: a link to a directory, which is not followed: kx check DIR/tree/in\n",
		"DIR/tree/loop:1:1: left out: ", "documents: 2; accepted: 2;",
	} {
		if a.code != 0 || !strings.Contains(said, want) {
			t.Errorf("exit code %d, not %q: %s%s", a.code, want, said, a.err)
		}
	}
}

// TestCheckSizes checks a document and a file that are too large.
func TestCheckSizes(t *testing.T) {
	t.Parallel()
	dir := manifests(t, map[string]string{"a.yaml": strings.Replace(goodMap, "{a: b}", "\n  a: "+strings.Repeat("x", 4<<20), 1) + "\n---\n" + goodMap, "b.yaml": ""})
	if err := os.Truncate(filepath.Join(dir, "b.yaml"), 100<<20); err != nil {
		t.Fatal(err)
	}
	a := newMachine(t).run("", "check", dir)
	for _, want := range []string{
		"a.yaml:1:1: document: not checked: the document has 4194", "and an API server reads 3145728 at most: split it",
		"b.yaml:1:1: document: not checked: the file has more than the 32 MiB that are read: split it", "accepted: 1;",
	} {
		if a.code != 2 || !strings.Contains(a.out, want) {
			t.Errorf("exit code %d, not %q: %s%s", a.code, want, a.out, a.err)
		}
	}
}

// TestCheckForms reads each form of the output as those do for whom it is meant.
func TestCheckForms(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := manifests(t, map[string]string{
		"a b.yaml": goodMap + "---\n" + strings.Replace(goodApp, "image: x", "imag: x", 1) + "---\na: [\n---\n" +
			"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}\n",
	})
	form := func(name string) string {
		t.Helper()
		a := m.run("", "check", "-o", name, dir)
		if a.code != 2 || a.err != "" {
			t.Fatalf("-o %s: exit code %d: %s%s", name, a.code, a.out, a.err)
		}
		return a.out
	}
	t.Run("json", func(t *testing.T) {
		var got struct {
			Documents []struct {
				File, Kind, Name, Outcome string
				Line                      int
				Findings                  []struct {
					Level, Field, Message string
					Line, Column          int
				}
			}
			Summary struct {
				Documents, Accepted, Refused, Unchecked, Warnings int
				Missing                                           []struct{ Text string }
			}
		}
		if err := json.Unmarshal([]byte(form("json")), &got); err != nil {
			t.Fatal(err)
		}
		if s := got.Summary; len(got.Documents) != 4 || s.Documents != 4 || s.Accepted != 2 || s.Refused != 1 || s.Unchecked != 1 || s.Warnings != 1 || len(s.Missing) != 1 {
			t.Fatalf("%+v", got)
		}
		if d := got.Documents[1]; d.Kind != "Deployment" || d.Outcome != "refused" || d.Line != 6 || len(d.Findings) != 2 || d.Findings[0].Field != "spec.template.spec.containers[0].image" || d.Findings[0].Line != 15 || d.Findings[1].Level != "warning" {
			t.Errorf("%+v", d)
		}
	})
	t.Run("junit", func(t *testing.T) {
		var got struct {
			Suites []struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Errors   int `xml:"errors,attr"`
				Cases    []struct {
					Name     string `xml:"name,attr"`
					Failures []struct {
						Message string `xml:"message,attr"`
					} `xml:"failure"`
					Errors []struct{} `xml:"error"`
					Out    string     `xml:"system-out"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal([]byte(form("junit")), &got); err != nil || len(got.Suites) != 1 {
			t.Fatal(got, err)
		}
		if s := got.Suites[0]; s.Tests != 4 || s.Failures != 1 || s.Errors != 1 || len(s.Cases) != 4 || len(s.Cases[1].Failures) != 1 || s.Cases[1].Name != "Deployment web" ||
			!strings.Contains(s.Cases[1].Failures[0].Message, "Required value") || !strings.Contains(s.Cases[1].Out, "imag") || len(s.Cases[2].Errors) != 1 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("sarif", func(t *testing.T) {
		var got struct {
			Version string
			Runs    []struct {
				Tool struct {
					Driver struct{ Rules []struct{ ID string } }
				}
				Invocations []struct{ ExecutionSuccessful bool }
				Results     []struct {
					RuleID, Level string
					Locations     []struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI string }
							Region           struct{ StartLine, StartColumn int }
						}
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(form("sarif")), &got); err != nil || got.Version != "2.1.0" || len(got.Runs) != 1 {
			t.Fatal(got, err)
		}
		run := got.Runs[0]
		if len(run.Results) != 4 || run.Invocations[0].ExecutionSuccessful {
			t.Fatalf("%+v", run)
		}
		levels := ""
		for _, r := range run.Results {
			levels += r.Level + " "
			if !regexp.MustCompile(fmt.Sprintf(`"?%s"?`, r.RuleID)).MatchString(fmt.Sprint(run.Tool.Driver.Rules)) || !strings.HasSuffix(r.Locations[0].PhysicalLocation.ArtifactLocation.URI, "/a%20b.yaml") ||
				r.Locations[0].PhysicalLocation.Region.StartLine < 1 || r.Locations[0].PhysicalLocation.Region.StartColumn < 1 {
				t.Errorf("%+v", r)
			}
		}
		if levels != "error warning error note " {
			t.Error(levels)
		}
	})
	t.Run("github", func(t *testing.T) {
		lines := strings.Split(strings.TrimSpace(form("github")), "\n")
		command := regexp.MustCompile(`^::(error|warning|notice) file=[^,:]*,line=\d+,col=\d+,title=[^,:]*(?:%3A[^,:]*)?::.+$`)
		if len(lines) != 5 || !strings.HasPrefix(lines[4], "documents: 4;") {
			t.Fatalf("%q", lines)
		}
		for _, line := range lines[:4] {
			if !command.MatchString(line) {
				t.Errorf("%s", line)
			}
		}
	})
}

// TestCheckMany checks 200 documents of several kinds. Their results come in their order.
func TestCheckMany(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for i := range 200 {
		namespace := fmt.Sprintf("{name: n%d, namespace: team%d}", i, i%7)
		all.WriteString([]string{
			strings.Replace(goodApp, "{name: web}", namespace, 1), strings.Replace(goodMap, "{name: good}", namespace, 1),
			"apiVersion: v1\nkind: Service\nmetadata: " + namespace + "\nspec: {ports: [{port: 80}]}\n",
			"apiVersion: v1\nkind: ServiceAccount\nmetadata: " + namespace + "\n",
			"apiVersion: v1\nkind: Pod\nmetadata: " + namespace + fmt.Sprintf("\nspec: {serviceAccountName: n%d, containers: [{name: a}]}\n", i-1),
		}[i%5] + "---\n")
	}
	a := newMachine(t).run("", "check", "--all", manifests(t, map[string]string{"all.yaml": all.String()}))
	lines := regexp.MustCompile(`(?m)all\.yaml:(\d+):\d+: \w+ team\d/n(\d+): (\w+)`).FindAllStringSubmatch(a.out, -1)
	if a.code != 1 || len(lines) != 200 || !strings.Contains(a.out, "documents: 200; accepted: 160; of these updated: 0; refused: 40;") {
		t.Fatalf("exit code %d, %d lines: %s%s", a.code, len(lines), a.out, a.err)
	}
	for i, line := range lines {
		if line[2] != fmt.Sprint(i) {
			t.Fatalf("line %d is about %q", i, line)
		}
	}
}

// TestCheckLeavesNothing looks for sockets and files of a check that waits for its input and is interrupted.
func TestCheckLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(sig) {
				t.Skip("this signal is ignored here, as under nohup, and by what the test starts")
			}
			cmd := newMachine(t).command("check", "-")
			temporary := temporaryOf(cmd)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
				if files, _ := serving(temporary); files > 0 {
					break
				}
				if time.Now().After(end) {
					t.Fatal("it starts no server")
				}
			}
			if _, sockets := serving(temporary); len(sockets) > 0 {
				t.Errorf("it listens on %v", sockets)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 2 {
				t.Errorf("interrupted: %v", err)
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("it left %v, %v", left, err)
			}
		})
	}
}

// temporaryOf returns the directory for temporary files of a command.
func temporaryOf(cmd *exec.Cmd) string {
	for _, setting := range cmd.Env {
		if dir, ok := strings.CutPrefix(setting, "TMPDIR="); ok {
			return dir
		}
	}
	return ""
}

// serving returns what a check that serves has in its directory for temporary files.
func serving(temporary string) (files int, sockets []string) {
	_ = filepath.WalkDir(temporary, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type()&fs.ModeSocket != 0 {
			sockets = append(sockets, path)
		}
		if err == nil && entry.Name() == "kubeconfig" {
			files++
		}
		return nil
	})
	return files, sockets
}

// TestCheckClosedPipe checks for a reader that has gone, as head does.
func TestCheckClosedPipe(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"text", "json", "junit", "sarif", "github"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			cmd := newMachine(t).command("check", "--all", "-o", form, manifests(t, map[string]string{"a.yaml": goodMap + "dat: {}\n"}))
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdout = writer
			_ = reader.Close()
			err = cmd.Run()
			_ = writer.Close()
			if err == nil || cmd.ProcessState.ExitCode() != 2 {
				t.Errorf("want exit code 2: %v", err)
			}
			if left, err := os.ReadDir(temporaryOf(cmd)); err != nil || len(left) > 0 {
				t.Errorf("it left %v, %v", left, err)
			}
		})
	}
}

// TestCheckAgainstACluster checks as a user who may only read there, and as one who may do nothing.
func TestCheckAgainstACluster(t *testing.T) {
	t.Parallel()
	dir := manifests(t, map[string]string{
		"is/a.yaml": shop + "---\n" + cronTabs + `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: ['*'], resources: ['*'], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: discovery}
rules: [{nonResourceURLs: ['/api', '/apis'], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: discovery}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: discovery}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: stranger}]
`,
		"old.yaml": oldTab,
		"new/a.yaml": strings.Replace(shop, "{a: b}", "{a: c}", 1) + "---\n" + shopMap("one") + "---\n" + shopMap("two") + "---\n" +
			strings.Replace(cronTabs, "minimum: 1, default: 3", "minimum: 9", 1) + "---\n" + strings.Replace(oldTab, "old", "new", 1),
	})
	data := t.TempDir()
	s, m := startServer(t, data), newMachine(t)
	config, err := clientcmd.LoadFromFile(s.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"reader", "stranger", "nobody"} {
		user := config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo].DeepCopy()
		user.Impersonate = name
		config.AuthInfos[name] = user
		config.Contexts[name] = &clientcmdapi.Context{Cluster: config.Contexts[config.CurrentContext].Cluster, AuthInfo: name}
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, int) {
		cmd := m.command(args...)
		cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig)
		out, _ := cmd.CombinedOutput()
		return strings.ReplaceAll(string(out), dir, "DIR"), cmd.ProcessState.ExitCode()
	}
	for _, file := range []string{"is", "old.yaml"} {
		if out, code := run("apply", "-f", filepath.Join(dir, file)); code != 0 {
			t.Fatal(out)
		}
	}
	for late := time.Now().Add(patience); ; { // a controller counts what quotas limit
		if used, _ := run("get", "resourcequota", "few", "-n", "shop", "-o", "jsonpath={.status.used.count/configmaps}"); used == "1" {
			break
		} else if time.Now().After(late) {
			t.Fatalf("the quota counts %q", used)
		}
	}
	snapshot, archive, cut := filepath.Join(dir, "backup.db"), filepath.Join(dir, "backup.tar"), filepath.Join(dir, "cut.db")
	for _, file := range [][]string{{snapshot}, {"--archive", archive}} {
		if out, code := run(append([]string{"etcd", "snapshot", "save", "--data-dir", data}, file...)...); code != 0 {
			t.Fatal(out)
		}
	}
	saved, err := os.ReadFile(snapshot)
	if err == nil {
		err = os.WriteFile(cut, saved[:len(saved)/2], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	all := []string{
		"ConfigMap shop/fixed: refused: data: Forbidden: field is immutable when `immutable` is set\n",
		"ConfigMap shop/two: refused: configmaps \"two\" is forbidden: exceeded quota: few, requested: count/configmaps=1, used: count/configmaps=2",
		"CronTab default/old is stored, and would be refused: spec.size: Invalid value: 2: ", "CronTab new: refused: spec.size: Invalid value: 2: ",
		"documents: 7; accepted: 4; of these updated: 3; refused: 3; "}
	for _, c := range []struct {
		context string
		code    int
		want    []string
	}{
		{"reader", 1, all},
		{snapshot, 1, all},
		{archive, 1, all},
		{cut, 2, []string{"--against DIR/cut.db: ", "cut"}},
		{"stranger", 1, []string{
			"context stranger: there, but not in the check: namespaces \"shop\" is forbidden: User \"stranger\" cannot get resource \"namespaces\"",
			"CronTab new: refused: spec.size: Invalid value: 2: ", "documents: 7; accepted: 5; of these updated: 0; refused: 2; "}},
		{"nobody", 2, []string{"read what is there in context nobody: forbidden: User \"nobody\" cannot get path \"/api\""}},
		{"readre", 2, []string{"there is no such file or context: did you mean reader?"}},
	} {
		out, code := run("check", "--against", c.context, filepath.Join(dir, "new"))
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.context, code, c.code)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: it does not say %q:\n%s", c.context, want, out)
			}
		}
	}
}

// TestCheckUpdateExpect has the answers written into rows, and all else stay as it was.
func TestCheckUpdateExpect(t *testing.T) {
	t.Parallel()
	const rows = `# of sizes
- name: new   # without an answer
  object: {spec: {size: 9}}

# the defaults
- accepted: {} # all of them
  name: defaults
  object:
    spec: {}
- name: as it was
  object: {spec: {size: 4}}
  accepted:   {}
- name: a typo
  object: {spec: {sice: 4}}
  refused:
  # once
  - too large
  - too small

# end
`
	const want = `# of sizes
- name: new   # without an answer
  object: {spec: {size: 9}}
  refused: 'spec: Invalid value: too large'

# the defaults
- accepted: # all of them
    spec:
      size: 3
  name: defaults
  object:
    spec: {}
- name: as it was
  object: {spec: {size: 4}}
  accepted:   {}
- name: a typo
  object: {spec: {sice: 4}}
  accepted: true
  warnings: unknown field "spec.sice"

# end
`
	m, dir := newMachine(t), manifests(t, map[string]string{"a.yaml": sized, "z.yaml": expectations + rows, "y/braces.yaml": expectations + "- {name: x}\n"})
	file := filepath.Join(dir, "z.yaml")
	a := m.run("", "check", "--update-expect", filepath.Join(dir, "a.yaml"), file)
	got, err := os.ReadFile(file)
	if err != nil || a.code != 0 || string(got) != expectations+want || !strings.Contains(a.out, "rows: 4; not as expected: 0; written: 3; ") {
		t.Errorf("exit code %d: %v: %s%s%s", a.code, err, a.out, a.err, got)
	}
	if a = m.run("", "check", filepath.Join(dir, "a.yaml"), file); a.code != 0 {
		t.Errorf("what was written does not hold: %s", a.out)
	}
	const link = "link.yaml"
	if err := errors.Join(os.WriteFile(file, []byte(expectations+rows), 0o600), os.Chmod(file, 0o640), os.Symlink("z.yaml", filepath.Join(dir, link))); err != nil {
		t.Fatal(err)
	}
	a = m.run("", "check", "--update-expect", filepath.Join(dir, "a.yaml"), filepath.Join(dir, link))
	got, err = os.ReadFile(file)
	if err != nil || a.code != 0 || string(got) != expectations+want {
		t.Errorf("through a link: exit code %d: %v: %s%s%s", a.code, err, a.out, a.err, got)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file has another mode: %v, %v", info, err)
	}
	if a = m.run("", "check", "--update-expect", dir); a.code != 2 || !strings.Contains(a.err, `braces.yaml:5:3: the row "x" is written in braces`) {
		t.Errorf("exit code %d: %s%s", a.code, a.out, a.err)
	}
	if a = m.run(expectations+rows, "check", "--update-expect", "-", filepath.Join(dir, "a.yaml")); a.code != 2 || !strings.Contains(a.err, "standard input") {
		t.Errorf("exit code %d: %s%s", a.code, a.out, a.err)
	}
}

// TestCheckUpdateExpectFirst writes fields with which rows begin: the row before gets its own lines, and no dash is lost.
func TestCheckUpdateExpectFirst(t *testing.T) {
	t.Parallel()
	const rows = `- name: bare
  object: {spec: {size: 4}}
- refused: too small
  name: next
  object: {spec: {size: 4}}
- warnings: unknown # none is
  name: last
  object: {spec: {size: 4}}
  accepted: true
`
	const want = `- name: bare
  object: {spec: {size: 4}}
  accepted: true
- accepted: true
  name: next
  object: {spec: {size: 4}}
- warnings: [] # none is
  name: last
  object: {spec: {size: 4}}
  accepted: true
`
	m, dir := newMachine(t), manifests(t, map[string]string{"a.yaml": sized, "z.yaml": expectations + rows})
	file := filepath.Join(dir, "z.yaml")
	a := m.run("", "check", "--update-expect", filepath.Join(dir, "a.yaml"), file)
	if got, err := os.ReadFile(file); err != nil || a.code != 0 || string(got) != expectations+want {
		t.Errorf("exit code %d: %v: %s%s%s", a.code, err, a.out, a.err, got)
	}
	if a = m.run("", "check", filepath.Join(dir, "a.yaml"), file); a.code != 0 {
		t.Errorf("what was written does not hold: %s", a.out)
	}
}

// TestCheckExpectForms reads rows in the forms for machines.
func TestCheckExpectForms(t *testing.T) {
	t.Parallel()
	m, dir := newMachine(t), manifests(t, map[string]string{"a.yaml": sized, "z.yaml": expectations + "- {name: good, object: {spec: {}}, accepted: true}\n- {name: bad, object: {spec: {}}, refused: x}\n"})
	for form, want := range map[string][]string{
		"json":   {`"rows": [`, `"row": "bad"`, `"outcome": "unmet"`, `"level": "mismatch"`, `"unmet": 1`, `"expressions": [`, `"true": 2`},
		"junit":  {`tests="3" failures="1"`, `type="mismatch"`, `never false: CustomResourceDefinition crontabs`},
		"sarif":  {`"ruleId": "mismatch"`, `"executionSuccessful": true`},
		"github": {"::error file=", "want refused, got accepted", "::notice file=", "title=never false"},
	} {
		a := m.run("", "check", "-o", form, dir)
		for _, text := range want {
			if a.code != 1 || !strings.Contains(a.out, text) {
				t.Errorf("-o %s: exit code %d, not %q: %s%s", form, a.code, text, a.out, a.err)
			}
		}
		if form == "json" && !json.Valid([]byte(a.out)) {
			t.Errorf("this is no JSON: %s", a.out)
		}
	}
}
