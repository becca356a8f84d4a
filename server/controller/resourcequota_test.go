package controller_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// until waits until the quotas of the namespace say this.
func (o quotaSpace) until(want ...string) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), controllertest.Patience)
	defer cancel()
	w, err := o.CoreV1().ResourceQuotas(o.namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		o.t.Fatal(err)
	}
	defer w.Stop()
	slices.Sort(want)
	for got := o.state(); !slices.Equal(got, want); got = o.state() {
		if _, ok := <-w.ResultChan(); !ok {
			o.t.Fatalf("in %v it did not come to pass that there is\n%s\nbut there is\n%s",
				controllertest.Patience, strings.Join(want, "\n"), strings.Join(o.state(), "\n"))
		}
	}
}

func configMapText(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}"
}

// TestQuotaOdd has values that can't be read, before and after the quota, and a quota that can't.
func TestQuotaOdd(t *testing.T) {
	t.Parallel()
	clients, _ := serveQuota(t, "")
	o := inQuotaSpace(t, clients, "odd")
	store := func(key, value string) {
		t.Helper()
		if _, err := o.Etcd.Put(t.Context(), "/registry/"+key, value); err != nil {
			t.Fatal(err)
		}
	}
	store("pods/odd/early", "k8s\x00\xff\xff")
	store("configmaps/odd/early", "{")
	o.apply(podText("a", "", smallPod), configMapText("a"), quotaText("all", "", "pods", "count/pods", "configmaps"))
	o.until("all: configmaps: 1 of 900", "all: count/pods: 1 of 900", "all: pods: 1 of 900")
	store("pods/odd/late", "k8s\x00\xff\xff")
	store("pods/odd/b/c", "k8s\x00\xff\xff")
	store("pods/odd/", "")
	store("configmaps/odd/late", "")
	store("resourcequotas/odd/bad", "k8s\x00\xff\xff")
	o.apply(podText("b", "", smallPod))
	// The list of quotas fails where one can't be read.
	eventually(t, "the pod is counted", func() bool { return o.used("all", "pods") == 2 })
	store("resourcequotas/odd/bad", "{}")
	if _, err := o.Etcd.Delete(t.Context(), "/registry/resourcequotas/odd/bad"); err != nil {
		t.Fatal(err)
	}
	// An object that becomes unreadable is no longer counted, and its end changes nothing.
	store("pods/odd/a", "k8s\x00\xff\xff")
	o.until("all: configmaps: 1 of 900", "all: count/pods: 1 of 900", "all: pods: 1 of 900")
	if _, err := o.Etcd.Delete(t.Context(), "/registry/pods/odd/a"); err != nil {
		t.Fatal(err)
	}
	o.apply(configMapText("b"))
	o.until("all: configmaps: 2 of 900", "all: count/pods: 1 of 900", "all: pods: 1 of 900")
}

// used is an amount of a quota.
func (o quotaSpace) used(quota string, name corev1.ResourceName) int64 {
	o.t.Helper()
	q, err := o.CoreV1().ResourceQuotas(o.namespace).Get(o.t.Context(), quota, metav1.GetOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	used := q.Status.Used[name]
	return used.Value()
}

// TestQuotaStatusIsMended has somebody else write the status.
func TestQuotaStatusIsMended(t *testing.T) {
	t.Parallel()
	clients, _ := serveQuota(t, "")
	o := inQuotaSpace(t, clients, "mend")
	o.apply(quotaText("all", "", "configmaps", "pods"), configMapText("a"))
	right := []string{"all: configmaps: 1 of 900", "all: pods: 0 of 900"}
	o.until(right...)
	o.patch("v1", "ResourceQuota", "all", `{"status":{"hard":{"secrets":"3"},"used":{"configmaps":"7","pods":"9","secrets":"1"}}}`, "status")
	o.until(right...)
}

// TestQuotaBurst counts the writes that a burst of objects leads to: one of them counts many objects.
func TestQuotaBurst(t *testing.T) {
	t.Parallel()
	const workers = 8
	objects := many(200)
	clients, _ := serveQuota(t, "")
	o := inQuotaSpace(t, clients, "burst")
	o.apply(quotaText("all", "", "configmaps"))
	o.until("all: configmaps: 0 of 900")
	w, err := o.CoreV1().ResourceQuotas(o.namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var making sync.WaitGroup
	for worker := range workers {
		making.Go(func() {
			for i := worker; i < objects; i += workers {
				_, err := o.CoreV1().ConfigMaps(o.namespace).Create(t.Context(), &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c-", i)}}, metav1.CreateOptions{})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	making.Wait()
	writes := -1 // the watch begins with what is there
	for event := range w.ResultChan() {
		writes++
		if used := event.Object.(*corev1.ResourceQuota).Status.Used[corev1.ResourceConfigMaps]; used.Value() == int64(objects) {
			break
		}
	}
	t.Logf("the status was written %d times for %d objects", writes, objects)
	if writes > objects/2 {
		t.Errorf("the status was written %d times for %d objects", writes, objects)
	}
}

// TestQuotaRestart has objects come and go while no server runs.
func TestQuotaRestart(t *testing.T) {
	t.Parallel()
	dir := controllertest.ShortDir(t)
	clients, stop := serveQuota(t, dir)
	o := inQuotaSpace(t, clients, "again")
	o.apply(quotaText("all", "", "configmaps"), quotaText("other", "", "pods"), configMapText("a"), configMapText("b"))
	o.until("all: configmaps: 2 of 900", "other: pods: 0 of 900")
	if _, err := o.Etcd.Delete(t.Context(), "/registry/configmaps/again/a"); err != nil {
		t.Fatal(err)
	}
	stop()
	clients, _ = serveQuota(t, dir)
	o = quotaSpace{clients, t, "again"}
	o.until("all: configmaps: 1 of 900", "other: pods: 0 of 900")
}

// TestQuotaModel changes objects and quotas at random, by two servers on one etcd that both count, and compares what the quotas say in the
// end with what is there.
func TestQuotaModel(t *testing.T) {
	t.Parallel()
	const seeds, steps = 4, 120
	one, _ := serveQuota(t, "")
	two, _ := serveQuota(t, "", one.Etcd.Endpoints()...)
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			o := inQuotaSpace(t, one, fmt.Sprint("model-", seed))
			walkQuota(o, quotaSpace{two, t, o.namespace}, rand.New(rand.NewPCG(seed, 0)), steps)
		})
	}
}

func walkQuota(one, two quotaSpace, random *rand.Rand, steps int) {
	one.t.Helper()
	quotas := []string{
		quotaText("all", "", "pods", "count/pods", "requests.cpu", "configmaps", "services.nodeports"),
		quotaText("best", "  scopes: [BestEffort]", "pods"),
		quotaText("busy", "  scopes: [NotBestEffort]", "pods", "requests.cpu"),
	}
	for range steps {
		o := one
		if random.IntN(2) == 0 {
			o = two
		}
		n := fmt.Sprint("n", random.IntN(8))
		var err error
		switch random.IntN(9) {
		case 0:
			_, err = o.CoreV1().ConfigMaps(o.namespace).Create(o.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: n}}, metav1.CreateOptions{})
		case 1:
			err = o.CoreV1().ConfigMaps(o.namespace).Delete(o.t.Context(), n, metav1.DeleteOptions{})
		case 2, 3:
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: n}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
			if cpu := random.IntN(4); cpu > 0 {
				p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": *resource.NewMilliQuantity(int64(cpu*100), resource.DecimalSI)}
			}
			_, err = o.CoreV1().Pods(o.namespace).Create(o.t.Context(), p, metav1.CreateOptions{})
		case 4:
			err = o.CoreV1().Pods(o.namespace).Delete(o.t.Context(), n, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		case 5:
			_, err = o.CoreV1().Pods(o.namespace).Patch(o.t.Context(), n, "application/merge-patch+json", []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
		case 6:
			s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: n}, Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}}
			_, err = o.CoreV1().Services(o.namespace).Create(o.t.Context(), s, metav1.CreateOptions{})
		case 7:
			err = o.CoreV1().Services(o.namespace).Delete(o.t.Context(), n, metav1.DeleteOptions{})
		case 8:
			i := random.IntN(len(quotas))
			name := []string{"all", "best", "busy"}[i]
			err = o.CoreV1().ResourceQuotas(o.namespace).Delete(o.t.Context(), name, metav1.DeleteOptions{})
			if apierrors.IsNotFound(err) {
				o.apply(quotas[i])
				err = nil
			}
		}
		if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			o.t.Fatal(err)
		}
	}
	one.until(one.recount()...)
}

// recount is what the quotas of TestModel must say of what is there.
func (o quotaSpace) recount() (lines []string) {
	o.t.Helper()
	list, err := o.CoreV1().Pods(o.namespace).List(o.t.Context(), metav1.ListOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	var best, busy int
	var cpu resource.Quantity
	for _, p := range list.Items {
		request := p.Spec.Containers[0].Resources.Requests["cpu"]
		switch {
		case p.Status.Phase == corev1.PodSucceeded:
		case request.IsZero():
			best++
		default:
			busy++
			cpu.Add(request)
		}
	}
	services, err := o.CoreV1().Services(o.namespace).List(o.t.Context(), metav1.ListOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	configMaps, err := o.CoreV1().ConfigMaps(o.namespace).List(o.t.Context(), metav1.ListOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	quotas, err := o.CoreV1().ResourceQuotas(o.namespace).List(o.t.Context(), metav1.ListOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	for _, q := range quotas.Items {
		for name, amount := range map[string]map[string]string{
			"all": {"pods": fmt.Sprint(best + busy), "count/pods": fmt.Sprint(len(list.Items)), "requests.cpu": cpu.String(),
				"configmaps": fmt.Sprint(len(configMaps.Items)), "services.nodeports": fmt.Sprint(len(services.Items))},
			"best": {"pods": fmt.Sprint(best)},
			"busy": {"pods": fmt.Sprint(busy), "requests.cpu": cpu.String()},
		}[q.Name] {
			lines = append(lines, fmt.Sprintf("%s: %s: %s of 900", q.Name, name, amount))
		}
	}
	return lines
}
