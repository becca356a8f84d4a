package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/admission/policy"
)

// Object is a stored object, with the effects of the policies on it.
type Object struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Operation is the write that was tried, empty if no policy is about one.
	Operation admission.Operation `json:"operation,omitempty"`
	// Refusal is the error that the client would get.
	Refusal string `json:"refusal,omitempty"`
	// Failures are validations that do not hold.
	Failures []policy.Failure `json:"failures,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
	// Annotations are what the audit log would be told.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Before and After are the object, if mutating policies would change it.
	Before json.RawMessage `json:"-"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Nothing says that the policies would do nothing.
func (o *Object) Nothing() bool {
	return o.Refusal == "" && len(o.Failures) == 0 && len(o.Warnings) == 0 && len(o.Annotations) == 0 && o.After == nil
}

// acts says whether a binding does something about a failure.
func (o *Object) acts(action registrationv1.ValidationAction) bool {
	return slices.ContainsFunc(o.Failures, func(f policy.Failure) bool { return slices.Contains(f.Actions, action) })
}

// Summary counts objects.
type Summary struct {
	Objects int64 `json:"objects"`
	// Matched counts the objects that a policy is about. The others count effects on them.
	Matched int64 `json:"matched"`
	Refused int64 `json:"refused"`
	Warned  int64 `json:"warned"`
	Audited int64 `json:"audited"`
	Changed int64 `json:"changed"`
}

// Trial tries policies on objects.
type Trial struct {
	Summary Summary

	set        *Set
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	mapper     meta.RESTMapper
	objects    *objects
	user       user.Info
	policies   *policy.Trial
	operation  admission.Operation
	params     map[schema.GroupVersionKind]policy.Params
	namespaces map[string]*corev1.Namespace
}

// New makes a trial of what files have, for objects of a server. The writes are those of whoever asks. operation is
// CREATE or UPDATE; if it is empty, objects are updated if a policy is about updates, and else created.
func New(ctx context.Context, config *rest.Config, mapper meta.RESTMapper, set *Set, operation admission.Operation) (*Trial, error) {
	if err := set.check(); err != nil {
		return nil, err
	}
	t := &Trial{set: set, mapper: mapper, params: map[schema.GroupVersionKind]policy.Params{}, namespaces: map[string]*corev1.Namespace{}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	t.client = client
	if t.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if t.objects, err = newObjects(client.Discovery()); err != nil {
		return nil, err
	}
	who, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask the server who asks: %w", err)
	}
	info := &user.DefaultInfo{Name: who.Status.UserInfo.Username, UID: who.Status.UserInfo.UID, Groups: who.Status.UserInfo.Groups,
		Extra: map[string][]string{}}
	for key, values := range who.Status.UserInfo.Extra {
		info.Extra[key] = values
	}
	t.user = info
	t.policies = policy.NewTrial(policy.Config{Namespace: t.namespace, Authorizer: access{client}}, t.ofKind,
		slices.Concat(set.Policies, set.Bindings))
	if t.operation, err = t.chosen(operation); err != nil {
		return nil, err
	}
	return t, nil
}

// chosen is the write that is tried.
func (t *Trial) chosen(operation admission.Operation) (admission.Operation, error) {
	switch {
	case operation != "":
		return operation, nil
	case t.policies.About(admission.Update):
		return admission.Update, nil
	case t.policies.About(admission.Create):
		return admission.Create, nil
	}
	return "", errors.New("the policies are about neither CREATE nor UPDATE: what they say of stored objects cannot be tried")
}

// Try tries an object as the server has it.
func (t *Trial) Try(ctx context.Context, u *unstructured.Unstructured, resource schema.GroupVersionResource) (*Object, error) {
	out := &Object{Resource: resource.GroupResource().String(), Namespace: u.GetNamespace(), Name: u.GetName()}
	kind := u.GroupVersionKind()
	t.objects.present, t.objects.err = kind.GroupVersion(), nil
	obj, err := t.objects.typed(u)
	if err != nil {
		return nil, err
	}
	before, err := document(obj)
	if err != nil {
		return nil, err
	}
	a := t.attributes(obj, u, kind, resource)
	changed := t.policies.Mutate(ctx, a, t.objects)
	if again := a.GetReinvocationContext(); changed.Refusal == nil && again.ShouldReinvoke() {
		again.SetIsReinvoke()
		changed.Refusal = t.policies.Mutate(ctx, a, t.objects).Refusal
	}
	outcome := changed
	if changed.Refusal == nil {
		outcome = t.policies.Validate(ctx, a, t.objects)
		outcome.Asked += changed.Asked
	}
	if err := errors.Join(ctx.Err(), t.objects.err); err != nil {
		return nil, err
	}
	after, err := document(a.GetObject())
	if err != nil {
		return nil, err
	}
	if outcome.Asked > 0 {
		out.Operation = t.operation
	}
	out.Failures, out.Warnings, out.Annotations = outcome.Failures, outcome.Warnings, outcome.Annotations
	if outcome.Refusal != nil {
		out.Refusal = outcome.Refusal.Error()
		if status := apierrors.APIStatus(nil); errors.As(outcome.Refusal, &status) { // its message may be for the client alone
			out.Refusal = status.Status().Message
		}
	}
	if !bytes.Equal(before, after) {
		out.Before, out.After = before, after
	}
	t.count(out)
	return out, nil
}

// attributes are those of a write of an object as it is.
func (t *Trial) attributes(obj runtime.Object, u *unstructured.Unstructured, kind schema.GroupVersionKind,
	resource schema.GroupVersionResource) admission.Attributes {
	namespace := u.GetNamespace()
	if resource.GroupResource() == corev1.Resource("namespaces") {
		namespace = u.GetName()
	}
	var old, options runtime.Object = nil, &metav1.CreateOptions{}
	if t.operation == admission.Update {
		old, options = obj.DeepCopyObject(), &metav1.UpdateOptions{}
	}
	return admission.NewAttributesRecord(obj, old, kind, namespace, u.GetName(), resource, "", t.operation, options, false, t.user)
}

// document is an object as clients see it, without who owns its fields.
func document(obj runtime.Object) (json.RawMessage, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		obj = u.DeepCopy() // else it would be taken to pieces itself
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(content, "metadata", "managedFields")
	return json.Marshal(content)
}

func (t *Trial) count(o *Object) {
	s := &t.Summary
	s.Objects++
	for _, n := range []struct {
		count *int64
		is    bool
	}{
		{&s.Matched, o.Operation != ""}, {&s.Refused, o.Refusal != ""}, {&s.Changed, o.After != nil}, {&s.Warned, len(o.Warnings) > 0},
		{&s.Audited, o.acts(registrationv1.Audit) || len(o.Annotations) > 0},
	} {
		if n.is {
			*n.count++
		}
	}
}

// access asks the server what somebody may do.
type access struct{ client kubernetes.Interface }

func (a access) Authorize(ctx context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
	who := asked.GetUser()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: map[string]authorizationv1.ExtraValue{},
	}}
	for key, values := range who.GetExtra() {
		review.Spec.Extra[key] = values
	}
	if asked.IsResourceRequest() {
		review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Verb: asked.GetVerb(), Group: asked.GetAPIGroup(), Version: asked.GetAPIVersion(), Resource: asked.GetResource(),
			Subresource: asked.GetSubresource(), Namespace: asked.GetNamespace(), Name: asked.GetName(),
		}
	} else {
		review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: asked.GetPath(), Verb: asked.GetVerb()}
	}
	answer, err := a.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	switch {
	case err != nil:
		return authorizer.DecisionNoOpinion, "", fmt.Errorf("ask the server what %s may do: %w", who.GetName(), err)
	case answer.Status.Allowed:
		return authorizer.DecisionAllow, answer.Status.Reason, nil
	case answer.Status.Denied:
		return authorizer.DecisionDeny, answer.Status.Reason, nil
	}
	return authorizer.DecisionNoOpinion, answer.Status.Reason, nil
}
