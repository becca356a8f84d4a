package pod

import (
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
)

// EvictionREST is the subresource eviction, which deletes a pod unless a disruption budget forbids that.
type EvictionREST struct {
	pods    *builtin.REST
	storage func(schema.GroupVersionResource) rest.Storage
}

var (
	_ rest.NamedCreater             = &EvictionREST{}
	_ rest.GroupVersionKindProvider = &EvictionREST{}
)

var evictionKind = policyv1.SchemeGroupVersion.WithKind("Eviction")

// conflicts are retried for ten seconds: many pods of one budget may be evicted at once.
var conflicts = wait.Backoff{Steps: 20, Duration: 500 * time.Millisecond, Factor: 1, Jitter: 0.1}

func (*EvictionREST) New() runtime.Object { return &policyv1.Eviction{} }

// Destroy does nothing: the resource pods owns the storage.
func (*EvictionREST) Destroy() {}

// GroupVersionKind returns Eviction, whose group is policy and not the pods'.
func (*EvictionREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return evictionKind
}

// AcceptsGroupVersion also accepts v1beta1, for old clients.
func (*EvictionREST) AcceptsGroupVersion(gv schema.GroupVersion) bool {
	return gv == policyv1.SchemeGroupVersion || gv == policyv1beta1.SchemeGroupVersion
}

// Create evicts the pod. A pod that is not running is deleted at once. For other pods, the budget that selects the
// pod must allow the eviction.
func (r *EvictionREST) Create(ctx context.Context, name string, obj runtime.Object, createValidation rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (_ runtime.Object, err error) {
	ctx, step := trace.Start(ctx, steps.PodEvict, name)
	defer step.End(&err)
	eviction, err := builtin.As[*policyv1.Eviction](obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a Eviction object: %T", obj))
	}
	deletion, err := deletionOf(eviction, name, options)
	if err != nil {
		return nil, err
	}
	if createValidation != nil {
		if err := createValidation(ctx, eviction.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	e := &evictionRun{EvictionREST: r, step: step, name: name, deletion: deletion}
	gone, err := e.deleteIfIdle(ctx)
	if err != nil {
		return nil, err
	}
	if !gone {
		if err := e.deleteIfAllowed(ctx); err != nil {
			return nil, err
		}
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}

// deletionOf returns the options for the deletion of the pod. A client may request a dry run in them, or in the
// options of the request.
func deletionOf(eviction *policyv1.Eviction, name string, options *metav1.CreateOptions) (*metav1.DeleteOptions, error) {
	if name != eviction.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	deletion := eviction.DeleteOptions
	if deletion == nil {
		return &metav1.DeleteOptions{DryRun: options.DryRun}, nil
	}
	if ptr.Deref(deletion.IgnoreStoreReadErrorWithClusterBreakingPotential, false) {
		return nil, apierrors.NewInvalid(evictionKind.GroupKind(), name, field.ErrorList{
			field.Invalid(field.NewPath("deleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential"), true,
				"can not be set for pod eviction, try after removing the option"),
		})
	}
	switch {
	case len(deletion.DryRun) == 0:
		deletion.DryRun = options.DryRun
	case len(options.DryRun) > 0 && !reflect.DeepEqual(options.DryRun, deletion.DryRun):
		//lint:ignore ST1005 it is a kube-apiserver's sentence
		return nil, fmt.Errorf("Non-matching dry-run options in request and content: %v and %v", options.DryRun, deletion.DryRun)
	}
	return deletion, nil
}

// evictionRun is one eviction.
type evictionRun struct {
	*EvictionREST
	step     *trace.Step
	name     string
	deletion *metav1.DeleteOptions
	// pod is the result of the last read.
	pod *corev1.Pod
}

var noBudgetNeeded = trace.Because("no-budget-needed",
	"the pod does not run: no budget counts it",
	"该 Pod 没有运行，不计入任何预算")

// deleteIfIdle deletes a pod that is not running, without regard to budgets. It retries conflicts, unless the client
// gave a resourceVersion.
func (e *evictionRun) deleteIfIdle(ctx context.Context) (gone bool, err error) {
	again := func(err error) bool { return apierrors.IsConflict(err) && !namesVersion(e.deletion) }
	err = retry.OnError(conflicts, again, func() error {
		if e.pod, err = getPod(ctx, e.pods, e.name); err != nil {
			return err
		}
		idle, over := isIdle(e.pod)
		if !idle {
			return nil
		}
		deletion := e.deletion
		if !over && !namesVersion(deletion) {
			// If the pod starts meanwhile, a budget counts it: the deletion must then fail.
			deletion = onlyAt(deletion, e.pod.ResourceVersion)
		}
		if err := e.delete(ctx, deletion); err != nil {
			return err
		}
		e.step.Why(noBudgetNeeded)
		gone = true
		return nil
	})
	return gone, err
}

// isIdle reports whether budgets ignore the pod, and whether they will ignore it for good.
func isIdle(pod *corev1.Pod) (idle, over bool) {
	over = pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil
	return over || pod.Status.Phase == corev1.PodPending, over
}

var (
	noBudget            = trace.Because("no-budget", "no budget selects the pod", "没有预算选中该 Pod")
	budgetSparesUnready = trace.Because("budget-spares-unready",
		"the pod is not ready, and the budget lets such pods go",
		"该 Pod 未就绪，预算允许驱逐这样的 Pod")
)

// deleteIfAllowed deletes the pod if the budget that selects it allows that.
func (e *evictionRun) deleteIfAllowed(ctx context.Context) error {
	budgets, err := e.budgetsOf(ctx, e.pod)
	if err != nil {
		return err
	}
	if len(budgets) == 0 {
		e.step.Why(noBudget)
		return e.delete(ctx, e.deletion)
	}
	if len(budgets) > 1 {
		return apierrors.FromObject(&metav1.Status{Status: metav1.StatusFailure, Code: 500,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."})
	}
	budget := &budgets[0]
	if sparesUnready(budget, e.pod) {
		e.step.Why(budgetSparesUnready)
		return e.deleteUnready(ctx, budget.Name)
	}
	if err := e.takeFrom(ctx, budget); err != nil {
		return err
	}
	return e.delete(ctx, e.deletion)
}

// deleteUnready deletes the pod only at the revision that was read: it may have become ready since.
func (e *evictionRun) deleteUnready(ctx context.Context, budget string) error {
	given := namesVersion(e.deletion)
	err := e.delete(ctx, onlyAt(e.deletion, e.pod.ResourceVersion))
	if apierrors.IsConflict(err) && !given {
		return beingProcessed(budget)
	}
	return err
}

// delete sets the condition DisruptionTarget, as the reason of the deletion, and deletes the pod.
func (e *evictionRun) delete(ctx context.Context, deletion *metav1.DeleteOptions) error {
	if len(deletion.DryRun) == 0 {
		noted, err := e.note(ctx, deletion.Preconditions)
		if err != nil {
			return err
		}
		if namesVersion(deletion) {
			deletion = onlyAt(deletion, noted.ResourceVersion)
		}
	}
	_, _, err := e.pods.Delete(ctx, e.name, rest.ValidateAllObjectFunc, deletion)
	return err
}

// note sets the condition DisruptionTarget if the preconditions hold.
func (e *evictionRun) note(ctx context.Context, preconditions *metav1.Preconditions) (*corev1.Pod, error) {
	target := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		pod := old.DeepCopyObject().(*corev1.Pod)
		if err := checkPreconditions(preconditions, pod); err != nil {
			return nil, err
		}
		setDisruptionTarget(&pod.Status)
		return pod, nil
	})
	part := builtin.NewPart(e.pods, "status", corev1.SchemeGroupVersion, status)
	obj, _, err := part.Update(ctx, e.name, target, rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	return builtin.As[*corev1.Pod](obj)
}

func checkPreconditions(p *metav1.Preconditions, pod *corev1.Pod) error {
	resource := schema.GroupResource{Resource: "Pod"}
	switch {
	case p == nil:
	case ptr.Deref(p.UID, "") != "" && *p.UID != pod.UID:
		return apierrors.NewConflict(resource, pod.Name, fmt.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). "+
				"The object might have been deleted and then recreated",
			*p.UID, pod.UID))
	case ptr.Deref(p.ResourceVersion, "") != "" && *p.ResourceVersion != pod.ResourceVersion:
		return apierrors.NewConflict(resource, pod.Name, fmt.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "+
				"The object might have been modified",
			*p.ResourceVersion, pod.ResourceVersion))
	}
	return nil
}

// setDisruptionTarget sets the condition. If it was true before, it keeps its transition time.
func setDisruptionTarget(status *corev1.PodStatus) {
	c := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI",
		Message: "Eviction API: evicting", LastTransitionTime: metav1.Now()}
	for i, was := range status.Conditions {
		if was.Type != c.Type {
			continue
		}
		if was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		}
		status.Conditions[i] = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}

func namesVersion(o *metav1.DeleteOptions) bool {
	return o.Preconditions != nil && o.Preconditions.ResourceVersion != nil
}

// onlyAt returns options that delete only one revision of the pod.
func onlyAt(o *metav1.DeleteOptions, version string) *metav1.DeleteOptions {
	o = o.DeepCopy()
	if o.Preconditions == nil {
		o.Preconditions = &metav1.Preconditions{}
	}
	o.Preconditions.ResourceVersion = &version
	return o
}
