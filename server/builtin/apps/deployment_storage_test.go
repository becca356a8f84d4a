package apps_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps"
	"github.com/kx-apiserver/kx/server/builtin/apps/scale"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

type storages struct {
	Deployment *builtin.REST
	Status     *builtin.StatusREST
	Scale      *scale.ScaleREST
	Rollback   *apps.RollbackREST
}

func newStorage(t *testing.T) storages {
	t.Helper()
	s := builtintest.Storages(t, builtin.Declare(apps.Deployment), builtintest.NewEtcd(t))
	return storages{
		s[""].(*builtin.REST), s["status"].(*builtin.StatusREST), s["scale"].(*scale.ScaleREST),
		s["rollback"].(*apps.RollbackREST),
	}
}

func newDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
}

func create(t *testing.T, s storages) *appsv1.Deployment {
	t.Helper()
	d := newDeployment()
	d.Status.Replicas = 9
	obj, err := s.Deployment.Create(builtintest.Context(t, "default"), builtintest.Defaulted(d), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return builtintest.Own[*appsv1.Deployment](t, obj)
}

func get(t *testing.T, s storages) *appsv1.Deployment {
	t.Helper()
	obj, err := s.Deployment.Get(builtintest.Context(t, "default"), "d", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return builtintest.Own[*appsv1.Deployment](t, obj)
}

func update(ctx context.Context, to rest.Updater, obj runtime.Object) (runtime.Object, error) {
	out, _, err := to.Update(ctx, "d", rest.DefaultUpdatedObjectInfo(obj), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	return out, err
}

func TestStatus(t *testing.T) {
	s := newStorage(t)
	d := create(t, s)
	if d.Status.Replicas != 0 || d.Generation != 1 {
		t.Fatalf("created generation %d with status %+v", d.Generation, d.Status)
	}
	changed := d.DeepCopy()
	changed.Labels = map[string]string{"x": "y"}
	changed.Spec.Paused = true
	changed.Status.Replicas = 3
	if _, err := update(builtintest.Context(t, "default"), s.Status, changed); err != nil {
		t.Fatal(err)
	}
	if got := get(t, s); got.Status.Replicas != 3 || got.Spec.Paused || got.Labels != nil || got.Generation != 1 {
		t.Errorf("status updated to %+v", got)
	}
}

func TestScale(t *testing.T) {
	s := newStorage(t)
	d := create(t, s)
	ctx := builtintest.Context(t, "default")
	obj, err := s.Scale.Get(ctx, "d", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale := obj.(*autoscalingv1.Scale)
	want := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "default", UID: d.UID, ResourceVersion: d.ResourceVersion, CreationTimestamp: d.CreationTimestamp},
		Spec:       autoscalingv1.ScaleSpec{Replicas: 3},
		Status:     autoscalingv1.ScaleStatus{Selector: "a=b"},
	}
	if diff := cmp.Diff(want, scale); diff != "" {
		t.Fatal(diff)
	}

	table, err := s.Scale.ConvertToTable(ctx, &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: scale.Spec}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"d", int64(3), int64(0), "<unknown>"}, table.Rows[0].Cells); diff != "" {
		t.Error(diff)
	}

	scale.Spec.Replicas = 5
	var seen []int32
	out, _, err := s.Scale.Update(ctx, "d", rest.DefaultUpdatedObjectInfo(scale), rest.UpdateAdmission{Update: func(_ context.Context, obj, old runtime.Object) error {
		seen = append(seen, old.(*autoscalingv1.Scale).Spec.Replicas, obj.(*autoscalingv1.Scale).Spec.Replicas)
		return nil
	}}, &metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := get(t, s)
	if *got.Spec.Replicas != 5 || got.Generation != 2 || got.ResourceVersion != out.(*autoscalingv1.Scale).ResourceVersion {
		t.Errorf("scaled to %+v", got)
	}
	if !slices.Equal(seen, []int32{3, 5}) {
		t.Errorf("admission saw the replicas %v", seen)
	}

	for name, tc := range map[string]struct {
		change func(*autoscalingv1.Scale)
		is     func(error) bool
		want   string
	}{
		"stale": {func(s *autoscalingv1.Scale) { s.ResourceVersion = d.ResourceVersion }, apierrors.IsConflict,
			`Operation cannot be fulfilled on deployments.apps "d": the object has been modified; please apply your changes to the latest version and try again`},
		"negative": {func(s *autoscalingv1.Scale) { s.Spec.Replicas = -1 }, apierrors.IsInvalid,
			`Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0`},
	} {
		next := out.(*autoscalingv1.Scale).DeepCopy()
		tc.change(next)
		_, err := update(ctx, s.Scale, next)
		if !tc.is(err) || err.Error() != tc.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
	other := out.(*autoscalingv1.Scale).DeepCopy()
	other.UID = "other"
	if _, err := update(ctx, s.Scale, other); !apierrors.IsConflict(err) {
		t.Errorf("another UID: %v", err)
	}
	if _, _, err := s.Scale.Update(ctx, "none", rest.DefaultUpdatedObjectInfo(scale), rest.UpdateAdmission{ForceAllowCreate: true}, &metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("no such deployment: %v", err)
	}
}

func TestScaleKinds(t *testing.T) {
	s := newStorage(t)
	for version, want := range map[string]string{"v1": "autoscaling/v1", "v1beta1": "apps/v1beta1", "v1beta2": "apps/v1beta2"} {
		kind := s.Scale.GroupVersionKind(schema.GroupVersion{Group: "apps", Version: version})
		if kind.GroupVersion().String() != want || kind.Kind != "Scale" {
			t.Errorf("scale in apps/%s: %s", version, kind)
		}
	}
}

func TestRollback(t *testing.T) {
	s := newStorage(t)
	create(t, s)
	ctx := builtintest.Context(t, "default")
	rollback := &appsv1beta1.DeploymentRollback{Name: "d", UpdatedAnnotations: map[string]string{"why": "broken"}, RollbackTo: appsv1beta1.RollbackConfig{Revision: 2}}

	obj, err := s.Rollback.Create(ctx, "d", rollback, rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, s); got.Annotations != nil {
		t.Errorf("a dry run wrote %v", got.Annotations)
	}
	want := &metav1.Status{Status: "Success", Message: `rollback request for deployment "d" succeeded`, Code: 200}
	if diff := cmp.Diff(want, obj); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Rollback.Create(ctx, "d", rollback, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"why": "broken", "deprecated.deployment.rollback.to": "2"}, get(t, s).Annotations); diff != "" {
		t.Error(diff)
	}

	refused := fmt.Errorf("refused")
	for name, tc := range map[string]struct {
		url      string
		rollback *appsv1beta1.DeploymentRollback
		admit    rest.ValidateObjectFunc
		want     string
	}{
		"no name":    {"d", &appsv1beta1.DeploymentRollback{}, nil, `DeploymentRollback.apps "" is invalid: name: Required value: name is required`},
		"other name": {"e", rollback, nil, `name in URL does not match name in DeploymentRollback object`},
		"negative": {"d", &appsv1beta1.DeploymentRollback{Name: "d", RollbackTo: appsv1beta1.RollbackConfig{Revision: -1}}, nil,
			`DeploymentRollback.apps "d" is invalid: rollback.version: Invalid value: -1: must be greater than or equal to 0`},
		"unknown":     {"e", &appsv1beta1.DeploymentRollback{Name: "e"}, nil, `deployments.apps "e" not found`},
		"not allowed": {"d", rollback, func(context.Context, runtime.Object) error { return refused }, "refused"},
	} {
		if _, err := s.Rollback.Create(ctx, tc.url, tc.rollback, tc.admit, &metav1.CreateOptions{}); err == nil || err.Error() != tc.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestNames(t *testing.T) {
	s := newStorage(t)
	if !slices.Equal(s.Deployment.ShortNames(), []string{"deploy"}) || !slices.Equal(s.Deployment.Categories(), []string{"all"}) ||
		s.Deployment.GetSingularName() != "deployment" || !s.Deployment.NamespaceScoped() {
		t.Error("deployments are known by other names")
	}
}
