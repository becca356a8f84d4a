package controller_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// createPolicy makes a policy of a spec. NAMESPACE stands for the namespace of the scene.
func createPolicy(s *controllertest.Stage, name, spec string) {
	s.T.Helper()
	p := &registrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-" + name}}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(spec, "NAMESPACE", s.Namespace)), &p.Spec); err != nil {
		s.T.Fatal(err)
	}
	must[*registrationv1.ValidatingAdmissionPolicy](s.T)(
		s.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(s.T.Context(), p, metav1.CreateOptions{}))
}

// policyRules match writes of resources.
func policyRules(group, version, resources string) string {
	return fmt.Sprintf("matchConstraints: {resourceRules: [{operations: ['*'], apiGroups: [%s], apiVersions: [%s], resources: [%s]}]}\n", group, version, resources)
}

// policyValidations are those of expressions.
func policyValidations(expressions ...string) string {
	text := "validations:\n"
	for _, e := range expressions {
		text += fmt.Sprintf("- expression: %q\n", e)
	}
	return text
}

var policyScenes = map[string]func(*controllertest.Stage){
	"nothing wrong": func(s *controllertest.Stage) {
		createPolicy(s, "fine", policyRules("apps", "v1", "deployments")+`
variables: [{name: few, expression: "object.spec.replicas < 5"}]
validations:
- expression: "variables.few || request.userInfo.username == 'admin'"
  messageExpression: "'there are ' + string(object.spec.replicas) + ' in ' + namespaceObject.metadata.name"
- expression: "authorizer.group('').resource('pods').check('get').allowed()"
- expression: "object == null || oldObject == null || object.spec.replicas >= oldObject.spec.replicas"
`)
	},
	"fields that are not there": func(s *controllertest.Stage) {
		createPolicy(s, "fields", policyRules("apps", "v1", "deployments")+policyValidations(
			"object.spec.replicaz < 5", "object.spec.template.spec.containers.all(c, c.img != '')", "has(oldObject.status.nothing)", "object.metadata.labels.app == 'a'", "object.metadata.labels['app'] == 1"))
		createPolicy(s, "message", policyRules("''", "v1", "configmaps")+`
validations:
- expression: "object.data.size() < 3"
  messageExpression: "'too many: ' + object.datas"
- expression: "false"
  messageExpression: "string(object.data.size()) + object.no"
`)
	},
	"wrong types": func(s *controllertest.Stage) {
		createPolicy(s, "types", policyRules("apps", "v1", "deployments")+policyValidations(
			"object.spec.replicas > 'five'", "object.spec + 1 == 2", "object.spec.paused == 'yes'", "object.metadata.creationTimestamp > 5",
			"object.spec.selector == object.spec.template"))
		createPolicy(s, "kinds-of-values", policyRules("''", "v1", "services")+policyValidations(
			"object.spec.ports.all(p, p.targetPort == 80 || p.targetPort == 'http')", "object.spec.ports.all(p, p.targetPort > 80)", "object.spec.ports['http'].port == 80"))
		createPolicy(s, "more", policyRules("''", "v1", "secrets, pods, events")+policyValidations(
			"object.data['a'] == b'x'", "object.data['a'] == 'x'", "object.spec.containers.all(c, c.resources.limits['cpu'] == '1')",
			"object.spec.containers.all(c, quantity(c.resources.limits['cpu']).isGreaterThan(quantity('1')))", "object.involvedObject.kind == 'Pod'",
			"object.metadata.managedFields.all(f, f.fieldsV1 == null)"))
		createPolicy(s, "raw", policyRules("apps", "v1", "controllerrevisions")+policyValidations("object.data.anything == 1", "object.revision == '1'"))
	},
	"params": func(s *controllertest.Stage) {
		createPolicy(s, "unknown", "paramKind: {apiVersion: NAMESPACE.example.com/v1, kind: Nothing}\n"+policyRules("apps", "v1", "deployments")+
			policyValidations("object.spec.replicas < params.most", "object.spec.no < params.most"))
		createPolicy(s, "known", "paramKind: {apiVersion: v1, kind: ConfigMap}\n"+policyRules("apps", "v1", "deployments")+
			policyValidations("object.spec.replicas < params.data.most", "object.spec.replicas < int(params.data.most)", "params.most == 1", "params == null"))
		createPolicy(s, "the-same-kind", "paramKind: {apiVersion: v1, kind: ConfigMap}\n"+policyRules("''", "v1", "configmaps")+
			policyValidations("object.data == params.data", "object.date == params.data"))
	},
	"several kinds": func(s *controllertest.Stage) {
		createPolicy(s, "apps", policyRules("apps", "v1", "statefulsets, deployments, daemonsets")+policyValidations("object.spec.replicas < 5", "object.spec.replicaz < 5"))
		createPolicy(s, "groups", policyRules("apps, ''", "v1", "deployments, pods, nothing, replicationcontrollers")+policyValidations("object.spec.replicas < 5"))
		createPolicy(s, "core", policyRules("''", "v1", "deployments, jobs")+policyValidations("object.spec.no == 1"))
		createPolicy(s, "many", policyRules("''", "v1",
			"pods, services, configmaps, secrets, endpoints, events, namespaces, nodes, persistentvolumes, persistentvolumeclaims, podtemplates, limitranges")+
			policyValidations("object.no == 1"))
		createPolicy(s, "two-rules", `
matchConstraints:
  resourceRules:
  - {operations: ['*'], apiGroups: [batch], apiVersions: [v1], resources: [jobs]}
  - {operations: ['*'], apiGroups: [autoscaling], apiVersions: [v1, v2], resources: [horizontalpodautoscalers]}
`+policyValidations("object.spec.no == 1"))
	},
	"nothing to look at": func(s *controllertest.Stage) {
		createPolicy(s, "all", policyRules("'*'", "'*'", "'*'")+policyValidations("object.no == 1"))
		createPolicy(s, "all-versions", policyRules("apps", "'*'", "deployments")+policyValidations("object.no == 1"))
		createPolicy(s, "all-resources", policyRules("apps", "v1", "'*'")+policyValidations("object.no == 1"))
		createPolicy(s, "subresources", policyRules("''", "v1", "pods/status, pods/eviction")+policyValidations("object.no == 1"))
		createPolicy(s, "not-served", policyRules("NAMESPACE.example.com", "v1", "things")+policyValidations("object.no == 1"))
		createPolicy(s, "audit", policyRules("apps", "v1", "deployments")+"auditAnnotations: [{key: a, valueExpression: 'string(object.no)'}]\n")
	},
	"variables": func(s *controllertest.Stage) {
		createPolicy(s, "variables", policyRules("apps", "v1", "deployments, daemonsets")+`
variables:
- {name: count, expression: "object.spec.replicas"}
- {name: double, expression: "variables.count * 2"}
- {name: names, expression: "object.spec.template.spec.containers.map(c, c.name)"}
- {name: wrong, expression: "object.spec.no"}
validations:
- expression: "variables.double < 5"
- expression: "variables.count == 'a'"
- expression: "variables.names.all(n, n < 5)"
- expression: "variables.wrong == 'a'"
`)
	},
	"custom resources": func(s *controllertest.Stage) {
		definitions := s.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(policyDefinition, "NAMESPACE", s.Namespace)), &crd.Object); err != nil {
			s.T.Fatal(err)
		}
		must[*unstructured.Unstructured](s.T)(definitions.Create(s.T.Context(), crd, metav1.CreateOptions{}))
		s.AwaitPart("things described")
		createPolicy(s, "custom", policyRules("NAMESPACE.example.com", "v1, v2", "things")+policyValidations(
			"object.spec.size < 5", "object.spec.size < 'a'", "object.spec.no == 1", "object.spec.free.anything == 1", "object.metadata.name == 1",
			"object.spec.port == 80 || object.spec.port == 'http'", "object.metadata.no == 1"))
		createPolicy(s, "as-params", "paramKind: {apiVersion: NAMESPACE.example.com/v1, kind: Thing}\n"+policyRules("''", "v1", "configmaps")+
			policyValidations("params.spec.size == 5", "params.spec.no == 5"))
	},
	"changes": func(s *controllertest.Stage) {
		createPolicy(s, "mended", policyRules("apps", "v1", "deployments")+policyValidations("object.spec.no < 5"))
		createPolicy(s, "spoilt", policyRules("apps", "v1", "deployments")+policyValidations("object.spec.replicas < 5"))
		s.AwaitPart("-mended 1 of 1")
		s.AwaitPart("-spoilt 1 of 1")
		for name, patch := range map[string]string{
			"mended": `{"spec":{"validations":[{"expression":"object.spec.replicas < 5"}]}}`,
			"spoilt": `{"spec":{"validations":[{"expression":"object.spec.no < 5"}]},"metadata":{"labels":{"a":"b"}}}`,
		} {
			must[*registrationv1.ValidatingAdmissionPolicy](s.T)(s.AdmissionregistrationV1().ValidatingAdmissionPolicies().Patch(
				s.T.Context(), s.Namespace+"-"+name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))
		}
	},
}

const policyDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  names: {plural: things, kind: Thing}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              port: {x-kubernetes-int-or-string: true}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {length: {type: integer}}}}}}
`

// typeNames matches names of types, which upstream ends with a part of the time.
var typeNames = regexp.MustCompile(`\b([A-Z][A-Za-z]+)\d+\b`)

func policyState(s *controllertest.Stage) (lines []string) {
	s.T.Helper()
	all := must[*registrationv1.ValidatingAdmissionPolicyList](s.T)(
		s.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(s.T.Context(), metav1.ListOptions{}))
	for i := range all.Items {
		if strings.HasPrefix(all.Items[i].Name, s.Namespace+"-") {
			lines = append(lines, policyLines(&all.Items[i])...)
		}
	}
	if policyKindDescribed(s, s.Namespace+".example.com") {
		lines = append(lines, "things described")
	}
	return lines
}

// policyLines are a line about the whole policy, and one for each of its warnings.
func policyLines(p *registrationv1.ValidatingAdmissionPolicy) []string {
	line := fmt.Sprintf("%s %d of %d", p.Name, p.Status.ObservedGeneration, p.Generation)
	for _, owner := range p.ManagedFields {
		if owner.Subresource != "" {
			line += fmt.Sprintf("; %s %s%s %s", owner.Manager, owner.Operation, owner.Subresource, owner.FieldsV1.GetRawBytes())
		}
	}
	if p.Status.TypeChecking == nil {
		line += "; not checked"
	}
	lines := []string{line}
	if p.Status.TypeChecking != nil {
		for i, w := range p.Status.TypeChecking.ExpressionWarnings {
			lines = append(lines, fmt.Sprintf("%s warning %02d at %s: %s", p.Name, i, w.FieldRef, typeNames.ReplaceAllString(fmt.Sprintf("%q", w.Warning), "$1")))
		}
	}
	return lines
}

// policyKindDescribed says whether clients are told what the objects of a group look like.
func policyKindDescribed(s *controllertest.Stage, group string) bool {
	for _, version := range []string{"v1", "v2"} {
		document, err := s.RESTClient().Get().AbsPath("/openapi/v3/apis/" + group + "/" + version).DoRaw(s.T.Context())
		if err != nil || !strings.Contains(string(document), `"kind":"Thing"`) {
			return false
		}
	}
	return true
}

// TestPolicyStatusUpstream plays scenes, and waits for what is left of each with a kube-apiserver v1.37.1 and its kube-controller-manager.
func TestPolicyStatusUpstream(t *testing.T) {
	t.Parallel()
	all := controllertest.Scenes{
		Answers: "policystatus.json",
		Play:    policyScenes, State: policyState, Quiet: 4 * time.Second,
		Begun: func(lines []string) bool {
			for _, line := range lines {
				if strings.Contains(line, " 0 of ") {
					return false
				}
			}
			return true
		},
	}
	all.Compare(t, ordinary.Clients)
}
