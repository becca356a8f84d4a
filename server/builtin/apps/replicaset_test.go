package apps_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
)

var (
	declaration = builtin.Declare(apps.ReplicaSet)

	rules, tables, statusRules = declaration.Strategy(), declaration.Table(), declaration.StatusStrategy()
)

// parse reads a replica set; what its YAML does not say is right.
func parse(t testing.TB, more string) *appsv1.ReplicaSet {
	t.Helper()
	const base = `metadata: {name: r, namespace: default}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}`
	rs := &appsv1.ReplicaSet{}
	for _, document := range []string{base, more} {
		if err := yaml.UnmarshalStrict([]byte(document), rs); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
	}
	return builtintest.Defaulted(rs)
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
		rs   string
		want []string
	}{
		"right": {"{}", nil},
		"numbers": {"spec: {replicas: -1, minReadySeconds: -1}", []string{
			`spec.replicas: Invalid value: -1: must be greater than or equal to 0`,
			`spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0`}},
		"empty selector": {"spec: {selector: {matchLabels: null}}", []string{
			`spec.selector: Invalid value: {}: empty selector is invalid for deployment`}},
		"other selector": {"spec: {selector: {matchLabels: {a: c}}}", []string{
			"spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"}},
		"restart policy": {"spec: {template: {spec: {restartPolicy: OnFailure}}}", []string{
			`spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, messages(rules.Validate(context.Background(), parse(t, tc.rs)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidateUpdate(t *testing.T) {
	old := parse(t, "metadata: {resourceVersion: '1'}")
	rs := parse(t, "metadata: {resourceVersion: '1'}\nspec: {selector: {matchLabels: {c: d}}, template: {metadata: {labels: {c: d}}}}")
	if diff := cmp.Diff([]string{`spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable`},
		messages(rules.ValidateUpdate(context.Background(), rs, old))); diff != "" {
		t.Error(diff)
	}
	rs = parse(t, "metadata: {resourceVersion: '1'}\nstatus: {replicas: 1, fullyLabeledReplicas: 2, readyReplicas: 1, availableReplicas: 2, terminatingReplicas: -1}")
	if diff := cmp.Diff([]string{
		`status.terminatingReplicas: Invalid value: -1: must be greater than or equal to 0`,
		`status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas`,
		`status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas`,
		`status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas`,
	}, messages(statusRules.ValidateUpdate(context.Background(), rs, old))); diff != "" {
		t.Error(diff)
	}
}

func TestGarbageCollectionPolicy(t *testing.T) {
	for version, want := range map[string]rest.GarbageCollectionPolicy{"v1": rest.DeleteDependents, "v1beta2": rest.OrphanDependents} {
		ctx := request.WithRequestInfo(context.Background(), &request.RequestInfo{APIGroup: "apps", APIVersion: version})
		if got := apps.ReplicaSet.Dependents(ctx); got != want {
			t.Errorf("apps/%s: got %s, want %s", version, got, want)
		}
	}
}

func TestLife(t *testing.T) {
	s := builtintest.Storages(t, builtin.Declare(apps.ReplicaSet), builtintest.NewEtcd(t))
	main := s[""].(*builtin.REST)
	if !slices.Equal(main.ShortNames(), []string{"rs"}) || !slices.Equal(main.Categories(), []string{"all"}) {
		t.Error("replica sets are known by other names")
	}
	ctx := builtintest.Context(t, "default")
	obj, err := main.Create(ctx, parse(t, "status: {replicas: 7}"), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rs := builtintest.Own[*appsv1.ReplicaSet](t, obj)
	if *rs.Spec.Replicas != 1 || rs.Generation != 1 || rs.Status.Replicas != 0 {
		t.Fatalf("created %+v", rs)
	}

	update := func(to rest.Updater, next *appsv1.ReplicaSet) *appsv1.ReplicaSet {
		t.Helper()
		obj, _, err := to.Update(ctx, "r", rest.DefaultUpdatedObjectInfo(next), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return builtintest.Own[*appsv1.ReplicaSet](t, obj)
	}
	next := rs.DeepCopy()
	next.Spec.MinReadySeconds, next.Status.Replicas = 3, 1
	if next = update(s["status"].(rest.Updater), next); next.Spec.MinReadySeconds != 0 || next.Status.Replicas != 1 || next.Generation != 1 {
		t.Errorf("status updated to %+v", next)
	}
	next.Spec.MinReadySeconds, next.Status.Replicas = 3, 2
	if next = update(main, next); next.Spec.MinReadySeconds != 3 || next.Status.Replicas != 1 || next.Generation != 2 {
		t.Errorf("updated to %+v", next)
	}

	obj, err = s["scale"].(rest.Getter).Get(ctx, "r", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale := obj.(*autoscalingv1.Scale)
	scale.Spec.Replicas = 4
	if _, _, err := s["scale"].(rest.Updater).Update(ctx, "r", rest.DefaultUpdatedObjectInfo(scale), rest.UpdateAdmission{}, &metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	obj, err = main.Get(ctx, "r", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if rs = builtintest.Own[*appsv1.ReplicaSet](t, obj); *rs.Spec.Replicas != 4 || rs.Generation != 3 || rs.Status.Replicas != 1 {
		t.Errorf("scaled to %+v", rs)
	}
	if _, err := s["scale"].(rest.Getter).Get(ctx, "none", &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("scale of nothing: %v", err)
	}
}

func TestTable(t *testing.T) {
	rs := parse(t, "spec: {replicas: 3}\nstatus: {replicas: 2, readyReplicas: 1}")
	table, err := tables.ConvertToTable(context.Background(), rs, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range table.ColumnDefinitions {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"Name", "Desired", "Current", "Ready", "Age", "Containers", "Images", "Selector"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{"r", int64(3), int64(2), int64(1), "<unknown>", "c", "i", "a=b"}, table.Rows[0].Cells); diff != "" {
		t.Error(diff)
	}
}
