package authorization

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// REST is the storage of one kind of review T, which keeps nothing.
type REST[T runtime.Object] struct {
	singular   string
	namespaced bool
	newReview  func() T
	validate   func(T) field.ErrorList
	answer     func(ctx context.Context, review T) (T, error)
}

var (
	_ rest.Creater              = &REST[*authorizationv1.SubjectAccessReview]{}
	_ rest.Scoper               = &REST[*authorizationv1.SubjectAccessReview]{}
	_ rest.SingularNameProvider = &REST[*authorizationv1.SubjectAccessReview]{}
)

// New implements rest.Storage.
func (r *REST[T]) New() runtime.Object { return r.newReview() }

// Destroy has nothing to give back.
func (r *REST[T]) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (r *REST[T]) NamespaceScoped() bool { return r.namespaced }

// GetSingularName implements rest.SingularNameProvider.
func (r *REST[T]) GetSingularName() string { return r.singular }

// Create answers a review.
func (r *REST[T]) Create(ctx context.Context, obj runtime.Object, createValidation rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	review, err := builtin.As[T](obj)
	if err != nil {
		return nil, err
	}
	if errs := r.validate(review); len(errs) > 0 {
		// Kubernetes does not say of what kind the review is.
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName}, "", errs)
	}
	if createValidation != nil {
		if err := createValidation(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	return r.answer(ctx, review)
}

// NewSubjectAccessReviewREST answers whether somebody may do something.
func NewSubjectAccessReviewREST(a authorizer.UnconditionalAuthorizer) *REST[*authorizationv1.SubjectAccessReview] {
	type review = authorizationv1.SubjectAccessReview
	return &REST[*review]{
		singular:  "subjectaccessreview",
		newReview: func() *review { return &review{} },
		validate: func(r *review) field.ErrorList {
			return append(validateSpec(&r.Spec), validateMetadata(r.ObjectMeta, "must be empty")...)
		},
		answer: func(ctx context.Context, r *review) (*review, error) {
			r.Status = decide(ctx, a, attributesOf(&r.Spec))
			return r, nil
		},
	}
}

// NewLocalSubjectAccessReviewREST answers whether somebody may do something in the namespace that the review is in.
func NewLocalSubjectAccessReviewREST(a authorizer.UnconditionalAuthorizer) *REST[*authorizationv1.LocalSubjectAccessReview] {
	type review = authorizationv1.LocalSubjectAccessReview
	return &REST[*review]{
		singular:   "localsubjectaccessreview",
		namespaced: true,
		newReview:  func() *review { return &review{} },
		validate:   validateLocal,
		answer: func(ctx context.Context, r *review) (*review, error) {
			switch namespace := request.NamespaceValue(ctx); {
			case namespace == "":
				return nil, apierrors.NewBadRequest("namespace is required on this type: ")
			case namespace != r.Namespace:
				return nil, apierrors.NewBadRequest("spec.resourceAttributes.namespace must match namespace: " + namespace)
			}
			r.Status = decide(ctx, a, attributesOf(&r.Spec))
			return r, nil
		},
	}
}

// NewSelfSubjectAccessReviewREST answers whether who asks may do something.
func NewSelfSubjectAccessReviewREST(a authorizer.UnconditionalAuthorizer) *REST[*authorizationv1.SelfSubjectAccessReview] {
	type review = authorizationv1.SelfSubjectAccessReview
	return &REST[*review]{
		singular:  "selfsubjectaccessreview",
		newReview: func() *review { return &review{} },
		validate: func(r *review) field.ErrorList {
			return append(validateQuestion(r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes),
				validateMetadata(r.ObjectMeta, "must be empty")...)
		},
		answer: func(ctx context.Context, r *review) (*review, error) {
			user, ok := request.UserFrom(ctx)
			if !ok {
				return nil, errNobody
			}
			r.Status = decide(ctx, a, question(user, r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes))
			return r, nil
		},
	}
}

// NewSelfSubjectRulesReviewREST answers what who asks may do in a namespace.
func NewSelfSubjectRulesReviewREST(rules authorizer.RuleResolver) *REST[*authorizationv1.SelfSubjectRulesReview] {
	type review = authorizationv1.SelfSubjectRulesReview
	return &REST[*review]{
		singular:  "selfsubjectrulesreview",
		newReview: func() *review { return &review{} },
		validate:  func(*review) field.ErrorList { return nil },
		answer: func(ctx context.Context, r *review) (*review, error) {
			user, ok := request.UserFrom(ctx)
			if !ok {
				return nil, errNobody
			}
			if r.Spec.Namespace == "" {
				return nil, apierrors.NewBadRequest("no namespace on request")
			}
			resources, paths, incomplete, err := rules.RulesFor(ctx, user, r.Spec.Namespace)
			// Neither metadata nor spec come back.
			out := &review{Status: rulesStatus(resources, paths)}
			out.Status.Incomplete = incomplete
			if err != nil {
				out.Status.EvaluationError = err.Error()
			}
			return out, nil
		},
	}
}

var errNobody = apierrors.NewBadRequest("no user present on request")

// rulesStatus is what rules look like on the wire. No rule is an empty list, and not none.
func rulesStatus(resources []authorizer.ResourceRuleInfo, paths []authorizer.NonResourceRuleInfo) authorizationv1.SubjectRulesReviewStatus {
	status := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{},
	}
	for _, rule := range resources {
		status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
			Verbs: rule.GetVerbs(), APIGroups: rule.GetAPIGroups(), Resources: rule.GetResources(), ResourceNames: rule.GetResourceNames(),
		})
	}
	for _, rule := range paths {
		status.NonResourceRules = append(status.NonResourceRules, authorizationv1.NonResourceRule{
			Verbs: rule.GetVerbs(), NonResourceURLs: rule.GetNonResourceURLs(),
		})
	}
	return status
}
