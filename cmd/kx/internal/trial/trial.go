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

// Object holds the effects of the policies on a stored object.
type Object struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Operation is the write that was tried. It is empty if no policy matches.
	Operation admission.Operation `json:"operation,omitempty"`
	// Refusal is the error that the client would get.
	Refusal string `json:"refusal,omitempty"`
	// Failures lists the failed validations.
	Failures []policy.Failure `json:"failures,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
	// Annotations holds the annotations for the audit log.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Before and After hold the object before and after mutation, if mutating policies would change it.
	Before json.RawMessage `json:"-"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Nothing reports whether the policies would have no effect.
func (o *Object) Nothing() bool {
	return o.Refusal == "" && len(o.Failures) == 0 && len(o.Warnings) == 0 && len(o.Annotations) == 0 && o.After == nil
}

// acts reports whether a binding would take the action for a failure.
func (o *Object) acts(action registrationv1.ValidationAction) bool {
	return slices.ContainsFunc(o.Failures, func(f policy.Failure) bool { return slices.Contains(f.Actions, action) })
}

// Summary counts objects.
type Summary struct {
	Objects int64 `json:"objects"`
	// Matched counts the objects that a policy matches. The other fields count effects on them.
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

// New makes a trial of a set, for objects of a server. The user of the writes is the client's own. operation is
// CREATE or UPDATE. If it is empty, the trial updates objects if a policy matches updates, and else creates them.
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
	if t.operation, err = t.chooseOperation(operation); err != nil {
		return nil, err
	}
	return t, nil
}

// chooseOperation returns the operation to try.
func (t *Trial) chooseOperation(operation admission.Operation) (admission.Operation, error) {
	switch {
	case operation != "":
		return operation, nil
	case t.policies.Covers(admission.Update):
		return admission.Update, nil
	case t.policies.Covers(admission.Create):
		return admission.Create, nil
	}
	return "", errors.New("the policies are about neither CREATE nor UPDATE: what they say of stored objects cannot be tried")
}

// Try tries a write of an unchanged object from the server.
func (t *Trial) Try(ctx context.Context, u *unstructured.Unstructured, resource schema.GroupVersionResource) (*Object, error) {
	out := &Object{Resource: resource.GroupResource().String(), Namespace: u.GetNamespace(), Name: u.GetName()}
	kind := u.GroupVersionKind()
	t.objects.present, t.objects.err = kind.GroupVersion(), nil
	obj, err := t.objects.toTyped(u)
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
		// The error's own text can contain more than the message for the client.
		if status := apierrors.APIStatus(nil); errors.As(outcome.Refusal, &status) {
			out.Refusal = status.Status().Message
		}
	}
	if !bytes.Equal(before, after) {
		out.Before, out.After = before, after
	}
	t.count(out)
	return out, nil
}

// attributes returns the attributes of a write of an unchanged object.
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

// document returns an object as clients see it, without managedFields.
func document(obj runtime.Object) (json.RawMessage, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		obj = u.DeepCopy() // the conversion would share its parts
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

// access answers authorization checks with reviews by the server.
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
