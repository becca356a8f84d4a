package server_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestAutoscalersInTwoVersions writes an autoscaler through one version and reads it through the other: both see one object.
func TestAutoscalersInTwoVersions(t *testing.T) {
	t.Parallel()
	r := start(t)
	ctx, c, ns := within(t), r.admin(t), r.namespace(t, "autoscalers")
	old, hub := c.AutoscalingV1().HorizontalPodAutoscalers(ns), c.AutoscalingV2().HorizontalPodAutoscalers(ns)
	created, err := hub.Create(ctx, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "h", Annotations: map[string]string{"a": "b", "autoscaling.alpha.kubernetes.io/behavior": "ignored"}},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"},
			MaxReplicas:    5,
			Behavior:       &autoscalingv2.HorizontalPodAutoscalerBehavior{},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	if created.Generation != 1 || len(created.Annotations) != 1 || *created.Spec.MinReplicas != 1 {
		t.Errorf("created %+v", created)
	}

	seen, err := old.Get(ctx, "h", metav1.GetOptions{})
	must(t, err)
	const behavior = `{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15},{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null},` +
		`"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null}}`
	if got := seen.Annotations["autoscaling.alpha.kubernetes.io/behavior"]; got != behavior || ptr.Deref(seen.Spec.TargetCPUUtilizationPercentage, 0) != 80 {
		t.Errorf("autoscaling/v1 sees %+v", seen)
	}
	same, err := old.Update(ctx, seen, metav1.UpdateOptions{})
	must(t, err)
	if same.ResourceVersion != seen.ResourceVersion {
		t.Errorf("an object that came back as it was has been written: %+v", same)
	}

	seen.Spec.MaxReplicas, seen.Status.DesiredReplicas = 7, 3
	changed, err := old.Update(ctx, seen, metav1.UpdateOptions{FieldManager: "old"})
	must(t, err)
	now, err := hub.Get(ctx, "h", metav1.GetOptions{})
	must(t, err)
	if changed.Generation != 2 || now.Spec.MaxReplicas != 7 || now.Status.DesiredReplicas != 0 || now.Spec.Behavior.ScaleUp == nil {
		t.Errorf("autoscaling/v2 sees %+v", now)
	}
	if owned := ownedBy(now.ManagedFields, "old"); !strings.Contains(owned, "f:maxReplicas") || strings.Contains(owned, "f:status") {
		t.Errorf("the client of autoscaling/v1 owns %s", owned)
	}

	changed.Status = autoscalingv1.HorizontalPodAutoscalerStatus{CurrentReplicas: 2, DesiredReplicas: 3, CurrentCPUUtilizationPercentage: ptr.To[int32](40)}
	changed.Spec.MaxReplicas = 9
	changed, err = old.UpdateStatus(ctx, changed, metav1.UpdateOptions{FieldManager: "older"})
	must(t, err)
	if changed.Spec.MaxReplicas != 7 || changed.Status.DesiredReplicas != 3 || changed.Generation != 2 {
		t.Errorf("its status became %+v", changed)
	}
	if owned := ownedBy(changed.ManagedFields, "older"); !strings.Contains(owned, "f:desiredReplicas") || strings.Contains(owned, "f:spec") {
		t.Errorf("the client that wrote the status owns %s", owned)
	}
}

// TestScaleIgnoresMetadata scales a stateful set by a Scale whose labels no object could have.
func TestScaleIgnoresMetadata(t *testing.T) {
	t.Parallel()
	r := start(t)
	ctx, ns := within(t), r.namespace(t, "scale")
	sets := r.admin(t).AppsV1().StatefulSets(ns)
	labels := map[string]string{"a": "b"}
	_, err := sets.Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "s"},
		Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}},
	}, metav1.CreateOptions{})
	must(t, err)
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"Bad Key!": "x"}}}
	scale.Spec.Replicas = 2
	scale, err = sets.UpdateScale(ctx, "s", scale, metav1.UpdateOptions{})
	must(t, err)
	if scale.Spec.Replicas != 2 || scale.Status.Selector != "a=b" || scale.Labels != nil {
		t.Errorf("answered %+v", scale)
	}
	scale.Spec.Replicas = -2
	_, err = sets.UpdateScale(ctx, "s", scale, metav1.UpdateOptions{})
	const message = `Scale.autoscaling "s" is invalid: spec.replicas: Invalid value: -2: must be greater than or equal to 0`
	if err == nil || err.Error() != message {
		t.Errorf("got %v", err)
	}
}

// ownedBy is which fields a manager owns.
func ownedBy(entries []metav1.ManagedFieldsEntry, manager string) string {
	for _, e := range entries {
		if e.Manager == manager {
			return e.FieldsV1.GetRawString()
		}
	}
	return ""
}
