package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/options"
)

// awaitAll reads a watch until it has shown as many objects that are as they should be.
func awaitAll[T any](t *testing.T, w watch.Interface, err error, many int, right func(T) bool) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if obj, ok := event.Object.(any).(T); ok && right(obj) {
			many--
		}
		if many == 0 {
			return
		}
	}
	t.Fatalf("%d more objects were expected", many)
}

// written are the journeys of writes, each by who wrote what.
func written(t *testing.T, c controllertest.Clients) (lines []string) {
	t.Helper()
	raw, err := c.RESTClient().Get().AbsPath("/apis/kx.dev/v1alpha1/journeys").DoRaw(t.Context())
	list := v1alpha1.JourneyList{}
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if r := &list.Items[i].Spec; !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			lines = append(lines, fmt.Sprintf("%s %s %s/%s", r.User, r.Verb, r.Resource, r.Name))
		}
	}
	slices.Sort(lines)
	return lines
}

const cidr = "kubernetes"

func kept(ctx context.Context, t *testing.T, c controllertest.Clients) {
	t.Helper()
	w, err := c.NetworkingV1().ServiceCIDRs().Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + cidr})
	awaitAll(t, w, err, 1, func(r *networkingv1.ServiceCIDR) bool {
		return slices.Contains(r.Finalizers, "networking.k8s.io/service-cidr-finalizer") &&
			len(r.Status.Conditions) == 1 && r.Status.Conditions[0].Message == "Kubernetes Service CIDR is ready"
	})
}

// TestDefaults has a new server that is started as everybody starts it. What its controllers write at first is no journey; what they
// write because of somebody's request is.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c, _ := controllertest.Serve(t, options.New(), "")
	ctx, cancel := context.WithTimeout(t.Context(), controllertest.Patience)
	defer cancel()
	const initial = 4
	accounts, err := c.CoreV1().ServiceAccounts("").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=default"})
	awaitAll(t, accounts, err, initial, func(*corev1.ServiceAccount) bool { return true })
	authorities, err := c.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=kube-root-ca.crt"})
	awaitAll(t, authorities, err, initial, func(*corev1.ConfigMap) bool { return true })
	kept(ctx, t, c)
	if lines := written(t, c); len(lines) != 0 {
		t.Errorf("journeys of writes that nobody asked for:\n%s", strings.Join(lines, "\n"))
	}

	createNamespace(t, c, "new")
	account, err := c.CoreV1().ServiceAccounts("new").Watch(ctx, metav1.ListOptions{})
	awaitAll(t, account, err, 1, func(*corev1.ServiceAccount) bool { return true })
	authority, err := c.CoreV1().ConfigMaps("new").Watch(ctx, metav1.ListOptions{})
	awaitAll(t, authority, err, 1, func(*corev1.ConfigMap) bool { return true })
	if _, err := c.NetworkingV1().ServiceCIDRs().Patch(ctx, cidr, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	kept(ctx, t, c)
	const controllers = "system:serviceaccount:kube-system:"
	want := []string{
		"kx-admin create namespaces/new",
		"kx-admin patch servicecidrs/" + cidr,
		controllers + "root-ca-cert-publisher create configmaps/kube-root-ca.crt",
		controllers + "service-account-controller create serviceaccounts/default",
		controllers + "service-cidrs-controller update servicecidrs/" + cidr,
	}
	if lines := written(t, c); !slices.Equal(lines, want) {
		t.Errorf("journeys of writes:\n%s\nand not\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}
