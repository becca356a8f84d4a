package kxtest_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/kx-apiserver/kx/server/kxtest"
)

// TestOverwrites finds the updates without a resourceVersion that replaced an object, and no others.
func TestOverwrites(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"))
	config := s.User("manager", "system:masters")
	config.UserAgent = "widget-manager"
	client := clientOf(t, config)
	maps := client.CoreV1().ConfigMaps("default")
	m, err := maps.Create(within(t), configMap("settings"), metav1.CreateOptions{})
	must(t, err)
	m.Data["a"] = "c"
	m, err = maps.Update(within(t), m, metav1.UpdateOptions{})
	must(t, err)
	// These replace nothing: a lease is created, and custom resources can't be updated unseen.
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "manager"}}
	_, err = client.CoordinationV1().Leases("default").Update(within(t), lease, metav1.UpdateOptions{})
	must(t, err)
	custom, err := dynamic.NewForConfig(config)
	must(t, err)
	widget, err := custom.Resource(widgets).Namespace("default").Get(within(t), "first", metav1.GetOptions{})
	must(t, err)
	widget.SetResourceVersion("")
	if _, err = custom.Resource(widgets).Namespace("default").Update(within(t), widget, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Fatal(err)
	}
	s.MustNotOverwrite(t, "agent:widget-manager")

	for range 2 { // the second one changes nothing, and might have
		m.ResourceVersion, m.Data["a"] = "", "d"
		m, err = maps.Update(within(t), m, metav1.UpdateOptions{})
		must(t, err)
	}
	_, err = client.AppsV1().Deployments("default").Create(within(t), deployment("web"), metav1.CreateOptions{})
	must(t, err)
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	_, err = client.AppsV1().Deployments("default").UpdateScale(within(t), "web", scale, metav1.UpdateOptions{})
	must(t, err)
	said := failing(t, func(t testing.TB) { s.MustNotOverwrite(t, "agent:widget-manager") })
	const update = "\n  PUT /api/v1/namespaces/default/configmaps/settings 200 by manager with widget-manager"
	for _, want := range []string{
		`3 updates of "agent:widget-manager" had no resourceVersion, and overwrote what was stored:` + update + update,
		"\n  PUT /apis/apps/v1/namespaces/default/deployments/web/scale 200 by manager with widget-manager",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q lacks %q", said, want)
		}
	}
	said = failing(t, func(t testing.TB) { s.MustNotOverwrite(t, "agent:wiget-manager") })
	if !strings.Contains(said, `no request matches "agent:wiget-manager"`) {
		t.Errorf("a client that is not there: %q", said)
	}
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: name}}},
			},
		},
	}
}
