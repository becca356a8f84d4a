package pod

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/registry"
)

// BindingREST is the subresource binding, which assigns a pod to a node. Schedulers use it.
type BindingREST struct {
	pods *registry.Store
}

var (
	_ rest.NamedCreater                   = &BindingREST{}
	_ rest.SubresourceObjectMetaPreserver = &BindingREST{}
)

func newBindingREST(pods *builtin.REST) rest.Storage { return &BindingREST{pods.Store} }

func (*BindingREST) New() runtime.Object { return &corev1.Binding{} }

// Destroy does nothing: the resource pods owns the storage.
func (*BindingREST) Destroy() {}

// PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate keeps the UID and the resourceVersion of a binding, to
// compare them with the pod's.
func (*BindingREST) PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool { return true }

// Create binds a pod. An invalid binding is an internal server error, as with every Kubernetes API server.
func (r *BindingREST) Create(ctx context.Context, name string, obj runtime.Object, createValidation rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	binding, ok := obj.(*corev1.Binding)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a Binding object: %#v", obj))
	}
	if name != binding.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if errs := validateTarget(&binding.Target, field.NewPath("target")); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	if createValidation != nil {
		if err := createValidation(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if err := r.assign(ctx, binding, options != nil && len(options.DryRun) > 0); err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}

func validateTarget(target *corev1.ObjectReference, path *field.Path) (errs field.ErrorList) {
	node := target.Kind == "" || target.Kind == "Node"
	if !node {
		errs = append(errs, field.NotSupported(path.Child("kind"), target.Kind, []string{"Node", "<empty>"}))
	}
	if target.Name == "" {
		return append(errs, field.Required(path.Child("name"), ""))
	}
	if node {
		errs = append(errs, builtin.Invalids(path.Child("name"), target.Name, apivalidation.NameIsDNSSubdomain(target.Name, false))...)
	}
	return errs
}

// assign writes the node to the pod. It bypasses the strategy, which refuses every change of a pod's node.
func (r *BindingREST) assign(ctx context.Context, binding *corev1.Binding, dryRun bool) error {
	key, err := r.pods.KeyFunc(ctx, binding.Name)
	if err != nil {
		return err
	}
	try := func(obj runtime.Object, _ store.ResponseMeta) (runtime.Object, *uint64, error) {
		pod, err := builtin.As[*corev1.Pod](obj)
		if err != nil {
			return nil, nil, err
		}
		bound := pod.DeepCopy()
		return bound, nil, bind(bound, binding)
	}
	_, err = r.pods.Storage.GuaranteedUpdate(ctx, key, &corev1.Pod{}, try, dryRun,
		store.UpdateOptions{Preconditions: preconditions(binding)})
	if err == nil {
		return nil
	}
	err = registry.InterpretUpdateError(ctx, err, corev1.Resource("pods"), binding.Name)
	if _, ok := err.(apierrors.APIStatus); !ok {
		err = apierrors.NewConflict(corev1.Resource("pods/binding"), binding.Name, err)
	}
	return err
}

func preconditions(binding *corev1.Binding) *store.Preconditions {
	p := &store.Preconditions{}
	if binding.UID != "" {
		p.UID = &binding.UID
	}
	if binding.ResourceVersion != "" {
		p.ResourceVersion = &binding.ResourceVersion
	}
	return p
}

// bind sets the pod's node, and adds the binding's labels and annotations. It refuses a pod that has a node.
func bind(pod *corev1.Pod, binding *corev1.Binding) error {
	switch {
	case pod.DeletionTimestamp != nil:
		return fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return fmt.Errorf("pod %v has non-empty .spec.schedulingGates", pod.Name)
	}
	pod.Spec.NodeName, pod.Status.NominatedNodeName = binding.Target.Name, ""
	pod.Annotations, pod.Labels = mergeValues(pod.Annotations, binding.Annotations), mergeValues(pod.Labels, binding.Labels)
	for _, key := range initContainers {
		delete(pod.Annotations, key)
	}
	markScheduled(&pod.Status)
	return nil
}

// initContainers lists the annotations in which old clients sent the content of spec.initContainers. The server
// removes them from pods.
var initContainers = []string{
	"pod.beta.kubernetes.io/init-containers", "pod.alpha.kubernetes.io/init-containers",
	"pod.beta.kubernetes.io/init-container-statuses", "pod.alpha.kubernetes.io/init-container-statuses",
}

// markScheduled sets the condition PodScheduled. If it was true before, it keeps its transition time.
func markScheduled(status *corev1.PodStatus) {
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
	for i, c := range status.Conditions {
		if c.Type != corev1.PodScheduled {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			scheduled.LastTransitionTime = c.LastTransitionTime
		}
		status.Conditions[i] = scheduled
		return
	}
	status.Conditions = append(status.Conditions, scheduled)
}

func mergeValues(values, more map[string]string) map[string]string {
	if len(more) == 0 {
		return values
	}
	if values == nil {
		values = map[string]string{}
	}
	maps.Copy(values, more)
	return values
}
