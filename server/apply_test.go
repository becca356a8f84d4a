package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applyautoscalingv1 "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/util/csaupgrade"
)

func deploymentToApply(name, ns, image string) *applyappsv1.DeploymentApplyConfiguration {
	labels := map[string]string{"app": name}
	return applyappsv1.Deployment(name, ns).WithSpec(applyappsv1.DeploymentSpec().
		WithSelector(applymetav1.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(applycorev1.PodTemplateSpec().WithLabels(labels).WithSpec(applycorev1.PodSpec().
			WithContainers(applycorev1.Container().WithName("c").WithImage(image)))))
}

// TestApplyConfigurations does as a controller does: it applies what it wants, status and scale too, and reads back what
// it owns.
func TestApplyConfigurations(t *testing.T) {
	t.Parallel()
	r := start(t)
	ctx, c, ns := within(t), r.admin(t), r.namespace(t, "apply")
	deployments := c.AppsV1().Deployments(ns)
	mine := metav1.ApplyOptions{FieldManager: "controller"}
	made, err := deployments.Apply(ctx, deploymentToApply("d", ns, "i:1"), mine)
	must(t, err)
	if *made.Spec.Replicas != 1 || made.Spec.Template.Spec.Containers[0].ImagePullPolicy == "" {
		t.Errorf("made without defaults: %v", made)
	}
	scaled, err := deployments.ApplyScale(ctx, "d", applyautoscalingv1.Scale().WithName("d").WithNamespace(ns).
		WithSpec(applyautoscalingv1.ScaleSpec().WithReplicas(3)), metav1.ApplyOptions{FieldManager: "autoscaler", Force: true})
	must(t, err)
	if scaled.Spec.Replicas != 3 {
		t.Errorf("scaled to %v", scaled)
	}
	_, err = deployments.ApplyStatus(ctx, applyappsv1.Deployment("d", ns).WithStatus(applyappsv1.DeploymentStatus().WithReplicas(2)), mine)
	must(t, err)

	// What it owns is what it sent, and not what others did.
	now, err := deployments.Get(ctx, "d", metav1.GetOptions{})
	must(t, err)
	owned, err := applyappsv1.ExtractDeployment(now, "controller")
	must(t, err)
	if owned.Spec.Replicas != nil || *owned.Spec.Template.Spec.Containers[0].Image != "i:1" || owned.Spec.Template.Spec.Containers[0].ImagePullPolicy != nil || owned.Status != nil {
		t.Errorf("it owns %+v", owned.Spec)
	}
	again, err := deployments.Apply(ctx, owned, mine)
	must(t, err)
	if again.ResourceVersion != now.ResourceVersion || *again.Spec.Replicas != 3 {
		t.Errorf("applying what is owned wrote: %v", again)
	}
	_, err = deployments.Apply(ctx, deploymentToApply("d", ns, "i:2"), metav1.ApplyOptions{FieldManager: "other"})
	const conflict = `Apply failed with 1 conflict: conflict with "controller": .spec.template.spec.containers[name="c"].image`
	if !apierrors.IsConflict(err) || err.Error() != conflict || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		t.Errorf("got %v", err)
	}
}

// TestConcurrentAppliers lets many own a part of one object each: nobody is told of the others' writes.
func TestConcurrentAppliers(t *testing.T) {
	t.Parallel()
	r := start(t)
	ctx, c, ns := within(t), r.admin(t), r.namespace(t, "appliers")
	const appliers, rounds = 8, 10
	var all sync.WaitGroup
	for i := range appliers {
		all.Go(func() {
			for n := range rounds {
				cm := applycorev1.ConfigMap("shared", ns).WithData(map[string]string{fmt.Sprint("k", i): fmt.Sprint(n)})
				for {
					_, err := c.CoreV1().ConfigMaps(ns).Apply(ctx, cm, metav1.ApplyOptions{FieldManager: fmt.Sprint("m", i)})
					if err == nil {
						break
					}
					if ctx.Err() != nil || !strings.Contains(err.Error(), "etcdserver: request timed out") { // etcd waits seven seconds
						t.Error(err)
						break
					}
				}
			}
		})
	}
	all.Wait()
	cm, err := c.CoreV1().ConfigMaps(ns).Get(ctx, "shared", metav1.GetOptions{})
	must(t, err)
	for i := range appliers {
		if cm.Data[fmt.Sprint("k", i)] != fmt.Sprint(rounds-1) {
			t.Errorf("%d's last round is lost: %v", i, cm.Data)
		}
	}
	if len(cm.ManagedFields) != appliers {
		t.Errorf("%d managers", len(cm.ManagedFields))
	}
}

// TestFromClientSideApply moves an object from kubectl apply to kubectl apply --server-side, as kubectl does it.
func TestFromClientSideApply(t *testing.T) {
	t.Parallel()
	r := start(t)
	ctx, c, ns := within(t), r.admin(t), r.namespace(t, "csa")
	maps := c.CoreV1().ConfigMaps(ns)
	sent := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{},"name":"c","namespace":%q},"data":{"gone":"1","kept":"1"}}`, ns)
	old := strings.Replace(sent, `"annotations":{}`, fmt.Sprintf(`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%q}`, sent), 1)
	must(t, c.CoreV1().RESTClient().Post().Namespace(ns).Resource("configmaps").Param("fieldManager", "kubectl-client-side-apply").Body([]byte(old)).Do(ctx).Error())

	configuration := applycorev1.ConfigMap("c", ns).WithData(map[string]string{"kept": "2"})
	cm, err := maps.Apply(ctx, configuration, metav1.ApplyOptions{FieldManager: "kubectl"})
	must(t, err)
	if cm.Data["kept"] != "2" || cm.Data["gone"] != "1" {
		t.Errorf("the first apply made %v", cm.Data)
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(cm, sets.New("kubectl-client-side-apply"), "kubectl")
	must(t, err)
	_, err = maps.Patch(ctx, "c", types.JSONPatchType, patch, metav1.PatchOptions{})
	must(t, err)
	cm, err = maps.Apply(ctx, configuration, metav1.ApplyOptions{FieldManager: "kubectl"})
	must(t, err)
	if _, there := cm.Data["gone"]; there || cm.Data["kept"] != "2" || len(cm.ManagedFields) != 1 {
		t.Errorf("what is no longer wanted stays: %v of %v", cm.Data, cm.ManagedFields)
	}
}
