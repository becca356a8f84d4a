package kxapi

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/authz"
	"github.com/kx-apiserver/kx/server/builtin/authorization"
)

// AccessREST is the storage of access reviews. Creating one answers it; it is not kept.
type AccessREST struct{ authorizer *authz.Authorizer }

func (r *AccessREST) New() runtime.Object     { return &v1alpha1.AccessReview{} }
func (r *AccessREST) Destroy()                {}
func (r *AccessREST) NamespaceScoped() bool   { return false }
func (r *AccessREST) GetSingularName() string { return "accessreview" }

// Create answers a review.
func (r *AccessREST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc,
	_ *metav1.CreateOptions) (runtime.Object, error) {
	review := obj.(*v1alpha1.AccessReview).DeepCopy()
	if s := &review.Spec; s.User == "" && len(s.Groups) == 0 {
		if u, ok := request.UserFrom(ctx); ok {
			s.User, s.Groups, s.UID, s.Extra = u.GetName(), u.GetGroups(), u.GetUID(), map[string]authorizationv1.ExtraValue{}
			for key, values := range u.GetExtra() {
				s.Extra[key] = values
			}
		}
	}
	if errs := authorization.ValidateSpec(&review.Spec); len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind("AccessReview").GroupKind(), "", errs)
	}
	if err := validate(ctx, review.DeepCopy()); err != nil {
		return nil, err
	}
	verdict := r.authorizer.Decide(ctx, authorization.Attributes(&review.Spec))
	review.Status = v1alpha1.AccessReviewStatus{
		Allowed: verdict.Decision == authorizer.DecisionAllow, Why: verdict.Sentence(), Missing: verdict.Missing(),
	}
	if verdict.Err != nil {
		review.Status.EvaluationError = verdict.Err.Error()
	}
	return review, nil
}
