package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// expressions are conditions. Each is evaluated with all variables, for all objects.
var expressions = []string{
	"object.spec.replicas > 5", "object.spec.replicas <= 5 || object.metadata.name.startsWith('big')", "has(object.spec.paused) && object.spec.paused",
	"object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
	"object.spec.template.spec.containers.exists(c, has(c.resources) && has(c.resources.limits))",
	"object.spec.template.spec.containers.map(c, c.name).exists_one(n, n == 'web')",
	"object.metadata.labels['team'] == 'blue'", "object.metadata.?labels[?'team'].orValue('none') == 'none'",
	"oldObject == null || object.spec.replicas >= oldObject.spec.replicas", "oldObject.spec.replicas == 1",
	"request.operation == 'CREATE' && request.userInfo.username == 'alice'", "request.userInfo.groups.exists(g, g == 'devs')",
	"namespaceObject.metadata.labels['env'] == 'prod'", "namespaceObject.metadata.name == 'default'",
	"params.data.max == '8'", "object.spec.replicas < int(params.data.max)", "params == null",
	"authorizer.group('').resource('pods').namespace('default').check('get').allowed()", "authorizer.requestResource.check('custom').allowed()",
	"variables.count > 5", "variables.names.size() == 1 && variables.count == 3", "variables.broken == 1 || variables.count > 0",
	"quantity(object.spec.size).isLessThan(quantity('2Gi'))", "object.spec.no.such.field == 1", "1 / (object.spec.replicas - 3) > 0",
	"object.metadata.name.matches('^[a-z]+$')", "object.metadata.name in ['web', 'big']", "dyn(object.spec.replicas) == 'x'",
	"[1, 2, 3].filter(i, i > object.spec.replicas).size() > 0", "{'a': object.spec.replicas}['a'] == 3", "object.spec.replicas % 2 == 1 ? true : false",
	"duration('1h') > duration('1m')", "timestamp(object.metadata.creationTimestamp) < timestamp('2030-01-01T00:00:00Z')",
}

// objects of deployments, and of something that is like one.
var objects = []string{
	`{metadata: {name: web, namespace: default, labels: {team: blue}, creationTimestamp: "2020-01-01T00:00:00Z"}, spec: {replicas: 3, paused: true, size: 1Gi, template: {spec: {containers: [{name: web, image: registry.example.com/web}]}}}}`,
	`{metadata: {name: big1, namespace: default}, spec: {replicas: 7, size: 3Gi, template: {spec: {containers: [{name: a, image: x, resources: {limits: {cpu: "1"}}}, {name: b, image: registry.example.com/b}]}}}}`,
	`{metadata: {name: none}, spec: {replicas: "x", template: {spec: {containers: []}}}}`,
	`{metadata: {name: empty}}`,
}

var asked = []registrationv1.Variable{
	{Name: "count", Expression: "object.spec.replicas"}, {Name: "names", Expression: "object.spec.template.spec.containers.map(c, c.name)"},
	{Name: "broken", Expression: "object.spec.nowhere.x"},
}

// outcomeOf is what an expression came to, in words.
func outcomeOf(v ref.Val) string {
	if v == nil {
		return "nothing"
	}
	if v.Type() == types.ErrType {
		return "error"
	}
	return fmt.Sprint(v.Value())
}

// TestRepeated evaluates conditions and mutations for objects, and then once more as it is done to show their parts: each must come to the
// same. An expression without outcome has none then either.
func TestRepeated(t *testing.T) {
	vars := cel.OptionalVariableDeclarations{HasParams: true, HasAuthorizer: true}
	c, err := newCompiler(source{}, asked, vars)
	if err != nil {
		t.Fatal(err)
	}
	var all []cel.ExpressionAccessor
	for _, text := range expressions {
		all = append(all, &expression{text: text, types: []*celgo.Type{celgo.BoolType}})
	}
	conditions := c.conditions("validation", all, vars).(*evaluator)
	mutating := vars
	mutating.HasPatchTypes = true
	changes := []*mutationCase{
		{c.mutation(&patch.ApplyConfigurationCondition{Expression: "Object{metadata: Object.metadata{labels: {'size': string(object.spec.replicas * 2)}}}"}, mutating, nil).(*mutation)},
		{c.mutation(&patch.JSONPatchCondition{Expression: "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: object.metadata.name}]"}, mutating, nil).(*mutation)},
	}
	j, ctx := recording(t)
	_, step := trace.Start(ctx, steps.HandlerPolicy, "repeated")
	compared := 0
	for _, text := range objects {
		for _, old := range []string{"", objects[0]} {
			a := attributesOf(t, text, old)
			request := cel.CreateAdmissionRequest(a.Attributes, metav1.GroupVersionResource(a.GetResource()), metav1.GroupVersionKind(a.VersionedKind))
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"env": "prod"}}}
			param := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"max": "8"}}}
			for _, p := range []runtime.Object{nil, param} {
				bindings := cel.OptionalVariableBindings{VersionedParams: p, Authorizer: onlyPods{}}
				r := &record{step: step, parts: map[string]bool{}}
				again := func(o *outcome, f func() *partsExpression, text string) {
					t.Helper()
					if o.value == nil || o.err != nil {
						return
					}
					compared++
					if was, is := outcomeOf(o.value), outcomeOf(r.repeat(&evaluation{*o, f})); was != is {
						t.Errorf("%s came to %s, and then to %s", text, was, is)
					}
				}
				counted := &counter{CompositionContext: conditions.compiler.CreateContext(t.Context()), outcomes: make([]outcome, len(all))}
				results, _, err := conditions.ConditionEvaluator.ForInput(counted, a, request, bindings, namespace, celconfig.RuntimeCELCostBudget)
				if err != nil || len(results) != len(all) {
					t.Fatal(err)
				}
				for i := range results {
					again(&counted.outcomes[i], conditions.repeated[i], expressions[i])
				}
				for _, m := range changes {
					counted := &counter{CompositionContext: m.compiler.CreateContext(t.Context()), outcomes: make([]outcome, 1)}
					_, _, _ = m.MutatingEvaluator.ForInput(counted, a, request, bindings, namespace, celconfig.RuntimeCELCostBudget)
					if counted.outcomes[0].value != nil && counted.outcomes[0].err == nil {
						compared++
						if v := r.repeat(&evaluation{counted.outcomes[0], m.repeated}); v == nil || v.Type() != counted.outcomes[0].value.Type() {
							t.Errorf("%s came to a %s, and then to %v", m.expression.GetExpression(), counted.outcomes[0].value.Type(), v)
						}
					}
				}
			}
		}
	}
	step.End(nil)
	j.Finish(trace.Response{Code: 200})
	if compared < 250 {
		t.Errorf("only %d outcomes were compared", compared)
	}
}

type mutationCase struct{ *mutation }

// recording begins a journey of which objects are recorded.
func recording(t *testing.T) (*trace.Journey, context.Context) {
	t.Helper()
	ctx, j := trace.NewRecorder("test", trace.DefaultLimits).Begin(t.Context(), trace.Request{Method: "POST", URI: "/"})
	j.SetLevel(trace.Objects)
	return j, ctx
}

func attributesOf(t *testing.T, text, old string) *admission.VersionedAttributes {
	t.Helper()
	parse := func(text string) runtime.Object {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		u.SetAPIVersion("apps/v1")
		u.SetKind("Deployment")
		return u
	}
	operation := admission.Create
	var before runtime.Object
	if old != "" {
		operation, before = admission.Update, parse(old)
	}
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	object := parse(text)
	a := admission.NewAttributesRecord(object, before, kind, "default", "x", kind.GroupVersion().WithResource("deployments"), "", operation,
		&metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "alice", Groups: []string{"devs"}})
	v := &admission.VersionedAttributes{Attributes: a, VersionedKind: kind}
	v.VersionedObject.Set(object)
	if before != nil {
		v.VersionedOldObject.Set(before)
	}
	return v
}

// onlyPods lets everybody do everything with pods.
type onlyPods struct{}

func (onlyPods) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetResource() == "pods" {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// TestParts has an expression's variables and parts: what a step shows of them, also where nothing may be shown.
func TestParts(t *testing.T) {
	vars := cel.OptionalVariableDeclarations{}
	for _, tt := range []struct {
		expression string
		masked     bool
		want       []string
	}{
		{"object.spec.replicas > 5", false, []string{"object.spec.replicas = 3"}},
		{"!(object.spec.replicas > 5 && object.metadata.name == 'web')", false, []string{
			"object.spec.replicas > 5 && object.metadata.name == \"web\" = false", "object.spec.replicas > 5 = false", "object.spec.replicas = 3",
		}},
		{"object.metadata.labels['team'].startsWith('bl')", false, []string{`object.metadata.labels["team"] = "blue"`}},
		{"object.spec.template.spec.containers.all(c, c.name != '') && has(object.spec.paused)", false, []string{
			`object.spec.template.spec.containers.all(c, c.name != "") = true`, "object.spec.template.spec.containers = list of 1", "has(object.spec.paused) = true",
		}},
		{"object.spec.replicas > 5 || object.metadata.name == 'web'", true, []string{
			"object.spec.replicas > 5 = false", "object.spec.replicas = (masked)", `object.metadata.name == "web" = true`, "object.metadata.name = (masked)",
		}},
		{"variables.count == 3 && oldObject == null", false, []string{
			"variable count: object.spec.replicas → 3 (cost 3)", "variables.count == 3 = true", "variables.count = 3", "oldObject == null = true",
		}},
		{"variables.count + variables.count > 5 || variables.names == []", true, []string{
			"variable count: object.spec.replicas → (masked) (cost 3)", "variables.count + variables.count > 5 = true",
			"variables.count + variables.count = (masked)", "variables.count = (masked)",
		}},
		{"variables.broken == 1 || variables.names.size() == 1", false, []string{
			"variable broken: object.spec.nowhere.x → error: no such key: nowhere (cost 3)",
			"variable names: object.spec.template.spec.containers.map(c, c.name) → list of 1 (cost 20)",
			`variables.broken == 1 = error: composited variable "broken" fails to evaluate: no such key: nowhere`,
			`variables.broken = error: composited variable "broken" fails to evaluate: no such key: nowhere`,
			"variables.names.size() == 1 = true", "variables.names.size() = 1", "variables.names = list of 1",
		}},
	} {
		c, err := newCompiler(source{}, asked, vars)
		if err != nil {
			t.Fatal(err)
		}
		e := c.conditions("validation", []cel.ExpressionAccessor{&expression{text: tt.expression, types: []*celgo.Type{celgo.BoolType}}}, vars)
		j, ctx := recording(t)
		ctx, step := trace.Start(ctx, steps.HandlerPolicy, "parts")
		ctx, r := withRecord(ctx, step, tt.masked)
		a := attributesOf(t, objects[0], "")
		request := cel.CreateAdmissionRequest(a.Attributes, metav1.GroupVersionResource(a.GetResource()), metav1.GroupVersionKind(a.VersionedKind))
		if _, _, err := e.ForInput(ctx, a, request, cel.OptionalVariableBindings{}, nil, celconfig.RuntimeCELCostBudget); err != nil || r == nil {
			t.Fatal(err)
		}
		step.End(nil)
		j.Finish(trace.Response{Code: 200})
		if !j.Wait(t.Context()) {
			t.Fatal("it does not end")
		}
		var got []string
		for _, attr := range j.Record().Steps[0].Attrs {
			switch attr.Name {
			case "part":
				got = append(got, attr.Text)
			case "variable":
				got = append(got, "variable "+attr.Text)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n%s\nand not\n%s", tt.expression, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

// TestManyExpressions: a step says of how many expressions it shows nothing.
func TestManyExpressions(t *testing.T) {
	j, ctx := recording(t)
	ctx, step := trace.Start(ctx, steps.HandlerPolicy, "many")
	_, r := withRecord(ctx, step, false)
	for i := range mostLines + 5 {
		e := &expression{text: fmt.Sprint("variables.v", i, " == 1")}
		r.variable(e, types.Int(1), nil, 1)
		r.line("validation", e, types.True, nil, 2)
	}
	r.end()
	step.End(nil)
	j.Finish(trace.Response{Code: 200})
	if !j.Wait(t.Context()) {
		t.Fatal("it does not end")
	}
	got := map[string]int{}
	for _, attr := range j.Record().Steps[0].Attrs {
		name := attr.Name
		if name == "not-shown" {
			name = attr.Text
		}
		got[name]++
	}
	if want := map[string]int{"validation": mostLines, "variable": mostLines, "5 more expressions": 1, "more variables": 1, "cost": 1}; !maps.Equal(got, want) {
		t.Errorf("the step has %v, not %v", got, want)
	}
}
