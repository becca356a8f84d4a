package v1alpha1

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AccessReview asks whether a user may do something, and why, or why not. The answer to its creation contains the
// result; it is not kept. A user who may create one learns about the roles and bindings of all users.
type AccessReview struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The user and the request to check, as in a SubjectAccessReview. Without a user and groups, the calling user is
	// checked.
	Spec authorizationv1.SubjectAccessReviewSpec `json:"spec"`
	// The answer.
	// +optional
	Status AccessReviewStatus `json:"status,omitempty"`
}

// AccessReviewStatus is the answer of the server's authorizers.
type AccessReviewStatus struct {
	// Whether they may do it.
	Allowed bool `json:"allowed"`
	// Why, in the sentence that the journey of such a request has: the binding and the rule that allow it, or which
	// come nearest.
	Why string `json:"why"`
	// A rule that would allow it. Empty if it is allowed, and if no rule would help.
	// +optional
	Missing *rbacv1.PolicyRule `json:"missing,omitempty"`
	// The error of the authorizers, if there was one.
	// +optional
	EvaluationError string `json:"evaluationError,omitempty"`
}

// OpenAPIModelName returns the name of the type's definition.
func (AccessReview) OpenAPIModelName() string       { return "dev.kx.v1alpha1.AccessReview" }
func (AccessReviewStatus) OpenAPIModelName() string { return "dev.kx.v1alpha1.AccessReviewStatus" }

func (in *AccessReview) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *AccessReview) DeepCopy() *AccessReview {
	out := copyOf(in)
	if out != nil {
		in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
		in.Spec.DeepCopyInto(&out.Spec)
		out.Status.Missing = in.Status.Missing.DeepCopy()
	}
	return out
}
