package apps

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	declaration = builtin.Declare(Deployment)

	rules, tables, statusRules = declaration.Strategy(), declaration.Table(), declaration.StatusStrategy()
)

// parse reads a deployment; what its YAML does not say is right.
func parse(t testing.TB, spec string) *appsv1.Deployment {
	t.Helper()
	const base = `metadata: {name: d, namespace: default, resourceVersion: "1"}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}`
	d := &appsv1.Deployment{}
	for _, document := range []string{base, spec} {
		if err := yaml.UnmarshalStrict([]byte(document), d); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
	}
	setDeploymentDefaults(d)
	return d
}

func messages(errs field.ErrorList) []string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		deployment string
		want       []string
	}{
		"right":    {"{}", nil},
		"replicas": {"spec: {replicas: -1}", []string{`spec.replicas: Invalid value: -1: must be greater than or equal to 0`}},
		"no selector": {"spec: {selector: null}", []string{
			`spec.selector: Required value`,
			"spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"}},
		"empty selector": {"spec: {selector: {matchLabels: null}}", []string{
			`spec.selector: Invalid value: {}: empty selector is invalid for deployment`}},
		"bad selector": {"spec: {selector: {matchExpressions: [{key: a, operator: Like}]}}", []string{
			`spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator`,
			`spec.selector: Invalid value: {"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"Like"}]}: invalid label selector`}},
		"other selector": {"spec: {selector: {matchLabels: {a: c}}}", []string{
			"spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"}},
		"template": {"spec: {template: {spec: {containers: [{name: c, image: ''}], restartPolicy: Never, activeDeadlineSeconds: 1}}}", []string{
			`spec.template.spec.containers[0].image: Required value`,
			`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`,
			`spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported`}},
		"recreate, rolling": {"spec: {strategy: {type: Recreate, rollingUpdate: {}}}", []string{
			"spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"}},
		"strategy": {"spec: {strategy: {type: Slowly}}", []string{
			`spec.strategy: Unsupported value: {"Type":"Slowly","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"`}},
		"percent": {"spec: {strategy: {rollingUpdate: {maxSurge: 10, maxUnavailable: 101%}}}", []string{
			`spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%`}},
		"no percent": {"spec: {strategy: {rollingUpdate: {maxSurge: some, maxUnavailable: -1}}}", []string{
			`spec.strategy.rollingUpdate.maxUnavailable: Invalid value: -1: must be greater than or equal to 0`,
			`spec.strategy.rollingUpdate.maxSurge: Invalid value: "some": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`}},
		"nothing may move": {"spec: {strategy: {rollingUpdate: {maxSurge: 0%, maxUnavailable: 0}}}", []string{
			"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"}},
		"times": {"spec: {minReadySeconds: 5, progressDeadlineSeconds: 5, revisionHistoryLimit: -1}", []string{
			`spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0`,
			`spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds`}},
		"rollback": {"metadata: {annotations: {deprecated.deployment.rollback.to: x}}", []string{
			`metadata.annotations[deprecated.deployment.rollback.to]: Invalid value: "x": must be a 64bit integer`}},
		"rollback, negative": {"metadata: {annotations: {deprecated.deployment.rollback.to: '-1'}}", []string{
			`spec.rollback.version: Invalid value: -1: must be greater than or equal to 0`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, messages(rules.Validate(context.Background(), parse(t, tc.deployment)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func in(version string) context.Context {
	return request.WithRequestInfo(context.Background(), &request.RequestInfo{APIGroup: "apps", APIVersion: version})
}

func TestSelectorChange(t *testing.T) {
	old := parse(t, "{}")
	changed := parse(t, "spec: {selector: {matchLabels: {a: b, c: d}}, template: {metadata: {labels: {a: b, c: d}}}}")
	refused := []string{`spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable`}
	for version, want := range map[string][]string{"v1": refused, "v1beta2": refused, "v1beta1": nil} {
		if diff := cmp.Diff(want, messages(rules.ValidateUpdate(in(version), changed, old))); diff != "" {
			t.Errorf("apps/%s: %s", version, diff)
		}
	}
}

func TestDefaultGarbageCollectionPolicy(t *testing.T) {
	for version, want := range map[string]rest.GarbageCollectionPolicy{
		"v1": rest.DeleteDependents, "v1beta2": rest.OrphanDependents, "v1beta1": rest.OrphanDependents,
	} {
		if got := Deployment.Dependents(in(version)); got != want {
			t.Errorf("apps/%s: got %s, want %s", version, got, want)
		}
	}
	if got := Deployment.Dependents(context.Background()); got != rest.DeleteDependents {
		t.Errorf("without a request: %s", got)
	}
}

func TestGeneration(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*appsv1.Deployment)
		want   int64
	}{
		"nothing":    {func(*appsv1.Deployment) {}, 4},
		"spec":       {func(d *appsv1.Deployment) { d.Spec.Paused = true }, 5},
		"annotation": {func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} }, 5},
		"label":      {func(d *appsv1.Deployment) { d.Labels = map[string]string{"a": "b"} }, 4},
		"status":     {func(d *appsv1.Deployment) { d.Status.Replicas = 3 }, 4},
		"alpha field": {func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.EvictionResponders = []corev1.EvictionResponder{{Name: "a.b/c"}}
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			old := parse(t, "metadata: {generation: 4}")
			d := old.DeepCopy()
			tc.change(d)
			rules.PrepareForUpdate(context.Background(), d, old)
			if d.Generation != tc.want || d.Status.Replicas != 0 {
				t.Errorf("generation %d, want %d; status %+v", d.Generation, tc.want, d.Status)
			}
		})
	}
}

func TestValidateStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		old, new string
		want     []string
	}{
		"right": {"{}", "{replicas: 3, updatedReplicas: 3, readyReplicas: 2, availableReplicas: 1, collisionCount: 1}", nil},
		"too many": {"{}", "{replicas: 1, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 3}", []string{
			`status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas`,
			`status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas`,
			`status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas`,
			`status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas`}},
		"negative": {"{}", "{observedGeneration: -1, unavailableReplicas: -1, terminatingReplicas: -1}", []string{
			`status.observedGeneration: Invalid value: -1: must be greater than or equal to 0`,
			`status.unavailableReplicas: Invalid value: -1: must be greater than or equal to 0`,
			`status.terminatingReplicas: Invalid value: -1: must be greater than or equal to 0`}},
		"fewer collisions": {"{collisionCount: 2}", "{collisionCount: 1}", []string{`status.collisionCount: Invalid value: 1: cannot be decremented`}},
		"no collisions":    {"{collisionCount: 2}", "{}", []string{`status.collisionCount: Invalid value: 0: cannot be decremented`}},
	} {
		t.Run(name, func(t *testing.T) {
			d, old := parse(t, "status: "+tc.new), parse(t, "status: "+tc.old)
			if diff := cmp.Diff(tc.want, messages(statusRules.ValidateUpdate(context.Background(), d, old))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	d := parse(t, "metadata: {name: a.b}\nspec: {template: {spec: {terminationGracePeriodSeconds: -1}}}")
	got := rules.WarningsOnCreate(context.Background(), d)
	grace := `spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`
	if len(got) != 2 || !strings.HasPrefix(got[0], "metadata.name: this is used in Pod names and hostnames") || got[1] != grace {
		t.Errorf("on create: %q", got)
	}
	if got := rules.WarningsOnUpdate(context.Background(), d, d); got != nil {
		t.Errorf("on an update that changes nothing: %q", got)
	}
	changed := d.DeepCopy()
	changed.Generation++
	if diff := cmp.Diff([]string{grace}, rules.WarningsOnUpdate(context.Background(), changed, d)); diff != "" {
		t.Error(diff)
	}
}

func TestTable(t *testing.T) {
	d := parse(t, "spec: {replicas: 3, template: {spec: {containers: [{name: c, image: i}, {name: d, image: j}]}}}\nstatus: {readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1}")
	table, err := tables.ConvertToTable(context.Background(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range table.ColumnDefinitions {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"Name", "Ready", "Up-to-date", "Available", "Age", "Containers", "Images", "Selector"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{"d", "1/3", int64(2), int64(1), "<unknown>", "c,d", "i,j", "a=b"}, table.Rows[0].Cells); diff != "" {
		t.Error(diff)
	}
}
