package pod

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/component-helpers/apps/poddisruptionbudget"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
)

var budgets = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")

// evictedMost limits the evicted pods that a budget notes until its controller has counted them.
const evictedMost = 2000

// budgetsOf returns the budgets that select the pod. A budget with an invalid selector selects no pods.
func (r *EvictionREST) budgetsOf(ctx context.Context, pod *corev1.Pod) ([]policyv1.PodDisruptionBudget, error) {
	lister, ok := r.storage(budgets).(rest.Lister)
	if !ok {
		return nil, apierrors.NewGenericServerResponse(http.StatusNotFound, "get", budgets.GroupResource(), "", "404 page not found",
			0, true)
	}
	obj, err := lister.List(ctx, &metainternalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	list, err := builtin.As[*policyv1.PodDisruptionBudgetList](obj)
	if err != nil {
		return nil, err
	}
	var selecting []policyv1.PodDisruptionBudget
	for _, b := range list.Items {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			selecting = append(selecting, b)
		}
	}
	return selecting, nil
}

// sparesUnready reports whether the eviction of an unready pod needs no disruption of the budget. It is false for a
// ready pod.
func sparesUnready(b *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return false
		}
	}
	if ptr.Deref(b.Spec.UnhealthyPodEvictionPolicy, policyv1.IfHealthyBudget) == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}

// takeFrom takes one disruption from the budget. After a conflict it reads the budget again and retries.
func (e *evictionRun) takeFrom(ctx context.Context, b *policyv1.PodDisruptionBudget) error {
	name := b.Name
	err := retry.RetryOnConflict(conflicts, func() (err error) {
		if b == nil {
			if b, err = e.getBudget(ctx, name); err != nil {
				return err
			}
		}
		err = e.checkAndDecrement(ctx, b)
		b = nil
		return err
	})
	if wait.Interrupted(err) {
		return apierrors.NewTimeoutError(fmt.Sprintf("couldn't update PodDisruptionBudget %q due to conflicts", name), 10)
	}
	return err
}

func (e *evictionRun) getBudget(ctx context.Context, name string) (*policyv1.PodDisruptionBudget, error) {
	b, err := builtin.Get[*policyv1.PodDisruptionBudget](ctx, e.storage(budgets), name, &metav1.GetOptions{})
	if errors.Is(err, builtin.ErrNotServed) {
		err = apierrors.NewNotFound(budgets.GroupResource(), name)
	}
	return b, err
}

var budgetAllows = trace.Because("budget-allows",
	"the budget lets it go: afterwards it allows {left} more",
	"预算允许驱逐，之后还允许 {left} 个")

// checkAndDecrement takes one disruption and notes the pod's name in the budget, or returns an error if the budget
// allows no disruption.
func (e *evictionRun) checkAndDecrement(ctx context.Context, b *policyv1.PodDisruptionBudget) (err error) {
	ctx, step := trace.Start(ctx, steps.PodCheckBudget, b.Name)
	defer step.End(&err)
	if err := refusal(b); err != nil {
		return err
	}
	b = b.DeepCopy()
	b.Status.DisruptionsAllowed--
	step.Why(budgetAllows, int64(b.Status.DisruptionsAllowed))
	if b.Status.DisruptionsAllowed == 0 {
		poddisruptionbudget.UpdateDisruptionAllowedCondition(b)
	}
	if len(e.deletion.DryRun) > 0 {
		return nil
	}
	if b.Status.DisruptedPods == nil {
		b.Status.DisruptedPods = map[string]metav1.Time{}
	}
	// The budget's controller must no longer count this pod as healthy, although it may still run for a while.
	b.Status.DisruptedPods[e.name] = metav1.Time{Time: time.Now()}
	updater, ok := e.storage(schema.GroupVersionResource{Group: budgets.Group, Version: budgets.Version,
		Resource: budgets.Resource + "/status"}).(rest.Updater)
	if !ok {
		return apierrors.NewNotFound(budgets.GroupResource(), b.Name)
	}
	_, _, err = updater.Update(ctx, b.Name, rest.DefaultUpdatedObjectInfo(b), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	return err
}

// refusal returns an error if the budget allows no disruption.
func refusal(b *policyv1.PodDisruptionBudget) error {
	switch s := &b.Status; {
	case s.ObservedGeneration < b.Generation:
		return beingProcessed(b.Name)
	case s.DisruptionsAllowed < 0:
		return forbidden(b.Name, "pdb disruptions allowed is negative", "pdb disruptions allowed is negative")
	case len(s.DisruptedPods) > evictedMost:
		return forbidden(b.Name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
			"too many pending evictions not confirmed by PDB controller")
	case s.DisruptionsAllowed == 0:
		return tooMany(0, needs(b))
	}
	return nil
}

// needs explains why the budget allows no disruption.
func needs(b *policyv1.PodDisruptionBudget) string {
	denied := func(c *metav1.Condition) bool {
		return c != nil && c.Status == metav1.ConditionFalse && c.Message != ""
	}
	text := fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", b.Name)
	switch c := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition); {
	case denied(c) && c.Reason == policyv1.SyncFailedReason:
		return text + " because it failed sync: " + c.Message
	case b.Status.CurrentHealthy <= b.Status.DesiredHealthy:
		return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, b.Status.DesiredHealthy,
			b.Status.CurrentHealthy)
	case denied(c):
		return fmt.Sprintf("%s (%s): %s", text, c.Reason, c.Message)
	}
	return text
}

// beingProcessed asks the client to retry when the controller has counted the budget's pods.
func beingProcessed(name string) error {
	return tooMany(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.", name))
}

func tooMany(retryAfterSeconds int, cause string) error {
	return withCause(cause,
		apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfterSeconds))
}

func forbidden(name, reason, cause string) error {
	err := apierrors.NewForbidden(policyv1.Resource("poddisruptionbudget"), name, errors.New(reason))
	return withCause(fmt.Sprintf("The disruption budget %s does not allow evicting pods currently: %s", name, cause), err)
}

func withCause(cause string, err *apierrors.StatusError) error {
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
		metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: cause})
	return err
}
