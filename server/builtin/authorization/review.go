package authorization

import (
	"context"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/builtin"
)

// Resources declares the reviews. a decides about one request, and rules lists a user's permissions.
func Resources(a authorizer.UnconditionalAuthorizer, rules authorizer.RuleResolver) []builtin.Declaration {
	return []builtin.Declaration{localSubjectAccessReviews(a), selfSubjectAccessReviews(a), selfSubjectRulesReviews(rules),
		subjectAccessReviews(a)}
}

// subjectAccessReviews declares the review that asks whether any user may make a request.
func subjectAccessReviews(a authorizer.UnconditionalAuthorizer) builtin.Declaration {
	type review = authorizationv1.SubjectAccessReview
	return builtin.DeclareReview(builtin.Review[*review]{
		Names:  builtin.Names{Plural: "subjectaccessreviews", Singular: "subjectaccessreview"},
		Served: authorizationv1.SchemeGroupVersion,
		Validate: func(r *review) error {
			return invalid(append(ValidateSpec(&r.Spec), validateMetadata(r.ObjectMeta, "must be empty")...))
		},
		Answer: func(ctx context.Context, r *review) (*review, error) {
			r.Status = decide(ctx, a, Attributes(&r.Spec))
			return r, nil
		},
		Sample: `
spec:
  user: alice
  resourceAttributes: {verb: get, resource: configmaps, namespace: default}`,
	})
}

// localSubjectAccessReviews declares the same review limited to its own namespace.
func localSubjectAccessReviews(a authorizer.UnconditionalAuthorizer) builtin.Declaration {
	type review = authorizationv1.LocalSubjectAccessReview
	return builtin.DeclareReview(builtin.Review[*review]{
		Names:      builtin.Names{Plural: "localsubjectaccessreviews", Singular: "localsubjectaccessreview"},
		Served:     authorizationv1.SchemeGroupVersion,
		Namespaced: true,
		Validate:   func(r *review) error { return invalid(validateLocal(r)) },
		Answer: func(ctx context.Context, r *review) (*review, error) {
			switch namespace := request.NamespaceValue(ctx); {
			case namespace == "":
				return nil, apierrors.NewBadRequest("namespace is required on this type: ")
			case namespace != r.Namespace:
				return nil, apierrors.NewBadRequest("spec.resourceAttributes.namespace must match namespace: " + namespace)
			}
			r.Status = decide(ctx, a, Attributes(&r.Spec))
			return r, nil
		},
		Sample: `
spec:
  user: alice
  resourceAttributes: {verb: get, resource: configmaps, namespace: NAMESPACE}`,
	})
}

// selfSubjectAccessReviews declares the review that asks whether its own user may make a request.
func selfSubjectAccessReviews(a authorizer.UnconditionalAuthorizer) builtin.Declaration {
	type review = authorizationv1.SelfSubjectAccessReview
	return builtin.DeclareReview(builtin.Review[*review]{
		Names:  builtin.Names{Plural: "selfsubjectaccessreviews", Singular: "selfsubjectaccessreview"},
		Served: authorizationv1.SchemeGroupVersion,
		Validate: func(r *review) error {
			return invalid(slices.Concat(validateOne(r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes),
				validateResource(r.Spec.ResourceAttributes), validateMetadata(r.ObjectMeta, "must be empty")))
		},
		Answer: func(ctx context.Context, r *review) (*review, error) {
			user, ok := request.UserFrom(ctx)
			if !ok {
				return nil, errNobody
			}
			r.Status = decide(ctx, a, question(user, r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes))
			return r, nil
		},
		Sample: "spec: {resourceAttributes: {verb: get, resource: configmaps, namespace: default}}",
	})
}

// selfSubjectRulesReviews declares the review that lists its own user's permissions in a namespace.
func selfSubjectRulesReviews(rules authorizer.RuleResolver) builtin.Declaration {
	type review = authorizationv1.SelfSubjectRulesReview
	return builtin.DeclareReview(builtin.Review[*review]{
		Names:  builtin.Names{Plural: "selfsubjectrulesreviews", Singular: "selfsubjectrulesreview"},
		Served: authorizationv1.SchemeGroupVersion,
		Answer: func(ctx context.Context, r *review) (*review, error) {
			user, ok := request.UserFrom(ctx)
			if !ok {
				return nil, errNobody
			}
			if r.Spec.Namespace == "" {
				return nil, apierrors.NewBadRequest("no namespace on request")
			}
			resources, paths, incomplete, err := rules.RulesFor(ctx, user, r.Spec.Namespace)
			// The answer has neither metadata nor spec.
			out := &review{Status: rulesStatus(resources, paths)}
			out.Status.Incomplete = incomplete
			if err != nil {
				out.Status.EvaluationError = err.Error()
			}
			return out, nil
		},
		Sample: "spec: {namespace: default}",
	})
}

var errNobody = apierrors.NewBadRequest("no user present on request")

// invalid leaves out the review's kind, as a kube-apiserver does.
func invalid(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName}, "", errs)
}

// rulesStatus returns the wire form of rules. Without rules the list is empty, and not null.
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
