package admission_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// counted waits until a quota says that so much is used of configmaps, and the cache has it.
func counted(t *testing.T, c typedcorev1.CoreV1Interface, want int64) {
	t.Helper()
	var last int64
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		list, err := c.ResourceQuotas("x").List(ctx, metav1.ListOptions{}) // no older than the request, and then the cache is not, either
		if err != nil || len(list.Items) != 1 {
			return false, err
		}
		used, ok := list.Items[0].Status.Used["count/configmaps"]
		last = used.Value()
		return ok && last == want, nil
	})
	if err != nil {
		t.Fatalf("the quota says %d, not %d: %v", last, want, err)
	}
}

// TestLastSeat: of many who race for what is left of a quota, so many get it as there is room for, and the controller does not count
// too early who is on the way.
func TestLastSeat(t *testing.T) {
	const creators, seats = 50, 3
	c, _ := serve(t, nil)
	ctx := t.Context()
	if _, err := c.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{"count/configmaps": *resource.NewQuantity(seats, resource.DecimalSI)}}}
	if _, err := c.ResourceQuotas("x").Create(ctx, q, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	counted(t, c, 0)
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	for i := range seats - 1 {
		for range 2 * seats {
			if _, err := c.ConfigMaps("x").Create(ctx, configMap("dry"), dry); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.ConfigMaps("x").Create(ctx, configMap(fmt.Sprint("early-", i)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var won atomic.Int64
	var racing sync.WaitGroup
	for i := range creators {
		racing.Go(func() {
			_, err := c.ConfigMaps("x").Create(ctx, configMap(fmt.Sprint("c-", i)), metav1.CreateOptions{})
			if err == nil {
				won.Add(1)
			} else if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=3, limited: count/configmaps=3") {
				t.Error(err)
			}
		})
	}
	racing.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of %d got the last seat", won.Load(), creators)
	}
	counted(t, c, seats)
	_, err := c.ConfigMaps("x").Create(ctx, configMap("late"), dry)
	refused(t, err, http.StatusForbidden, metav1.StatusReasonForbidden,
		`configmaps "late" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=3, limited: count/configmaps=3`)

	// What is deleted gives its seat back.
	if err := c.ConfigMaps("x").Delete(ctx, "early-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	counted(t, c, seats-1)
	if _, err := c.ConfigMaps("x").Create(ctx, configMap("late"), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	// A charge for what does not come to be is given back, too: the name is taken.
	counted(t, c, seats)
	if err := c.ConfigMaps("x").Delete(ctx, "early-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	counted(t, c, seats-1)
	if _, err := c.ConfigMaps("x").Create(ctx, configMap("late"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Error(err)
	}
	counted(t, c, seats-1)
}

// TestNoQuota: a namespace without a quota costs no step, and etcd is not asked for quotas.
func TestNoQuota(t *testing.T) {
	c, journeys := serve(t, nil)
	ctx := t.Context()
	if _, err := c.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	requests := func() (lines []string) {
		text, err := c.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "etcd_requests_total{") && strings.Contains(line, `"resourcequotas"`) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	// The cache is filled by the first of these, which may take longer than a few of them.
	const most = 100
	for i := range most {
		before := requests()
		if _, err := c.ConfigMaps("x").Create(ctx, configMap(fmt.Sprint("c-", i)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		after := requests()
		if i > 0 && slices.Equal(before, after) {
			break
		}
		if i == most-1 {
			t.Errorf("etcd is asked for quotas: %q, then %q", before, after)
		}
	}
	changes, _ := journeys.List()
	for _, change := range changes {
		for _, step := range journeys.Get(change.Journey.ID()).Record().Steps {
			if step.Subject == "ResourceQuota" {
				t.Errorf("a step of ResourceQuota: %+v", step)
			}
		}
	}
}
