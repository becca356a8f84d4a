package authorization

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// decide asks the authorizer and returns its answer.
func decide(ctx context.Context, a authorizer.UnconditionalAuthorizer,
	q authorizer.AttributesRecord) authorizationv1.SubjectAccessReviewStatus {
	decision, reason, err := a.Authorize(ctx, q)
	return authorizationv1.SubjectAccessReviewStatus{
		Allowed:         decision == authorizer.DecisionAllow,
		Denied:          decision == authorizer.DecisionDeny,
		Reason:          reason,
		EvaluationError: evaluationError(err, q),
	}
}

// evaluationError describes the error, and the invalid selectors that were not passed to the authorizer.
func evaluationError(err error, q authorizer.AttributesRecord) string {
	var parts []string
	if err != nil {
		parts = append(parts, err.Error())
	}
	ignored := func(name string, left int, err error) {
		if err == nil {
			return
		}
		how := "ignored"
		if left > 0 {
			how = "partially ignored"
		}
		parts = append(parts, fmt.Sprintf("spec.resourceAttributes.%s %s due to parse error", name, how))
	}
	ignored("fieldSelector", len(q.FieldSelectorRequirements), q.FieldSelectorParsingErr)
	ignored("labelSelector", len(q.LabelSelectorRequirements), q.LabelSelectorParsingErr)
	return strings.Join(parts, "; ")
}

// Attributes returns the authorizer's attributes for a SubjectAccessReview.
func Attributes(spec *authorizationv1.SubjectAccessReviewSpec) authorizer.AttributesRecord {
	who := &user.DefaultInfo{Name: spec.User, UID: spec.UID, Groups: spec.Groups}
	if spec.Extra != nil {
		who.Extra = make(map[string][]string, len(spec.Extra))
		for key, values := range spec.Extra {
			who.Extra[key] = values
		}
	}
	return question(who, spec.ResourceAttributes, spec.NonResourceAttributes)
}

// question returns the attributes of the request that the review asks about. Exactly one of r and path is set.
func question(who user.Info, r *authorizationv1.ResourceAttributes,
	path *authorizationv1.NonResourceAttributes) authorizer.AttributesRecord {
	if r == nil {
		return authorizer.AttributesRecord{User: who, Verb: path.Verb, Path: path.Path}
	}
	q := authorizer.AttributesRecord{
		User: who, ResourceRequest: true, Verb: r.Verb, Namespace: r.Namespace, Name: r.Name,
		APIGroup: r.Group, APIVersion: r.Version, Resource: r.Resource, Subresource: r.Subresource,
	}
	if q.APIVersion == "" {
		q.APIVersion = "*"
	}
	if s := r.FieldSelector; s != nil {
		q.FieldSelectorRequirements, q.FieldSelectorParsingErr = fieldRequirements(s)
	}
	if s := r.LabelSelector; s != nil {
		q.LabelSelectorRequirements, q.LabelSelectorParsingErr = labelRequirements(s)
	}
	return q
}

// fieldRequirements returns the valid requirements. All requirements must hold, so without an invalid one the
// question asks for more access, and never for less.
func fieldRequirements(s *authorizationv1.FieldSelectorAttributes) (fields.Requirements, error) {
	if len(s.Requirements) == 0 {
		selector, err := fields.ParseSelector(s.RawSelector)
		if err != nil {
			return nil, err
		}
		return selector.Requirements(), nil
	}
	var understood fields.Requirements
	var errs []error
	for _, r := range s.Requirements {
		one, err := fieldRequirement(r)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		understood = append(understood, one)
	}
	return understood, utilerrors.NewAggregate(errs)
}

func fieldRequirement(r metav1.FieldSelectorRequirement) (fields.Requirement, error) {
	if len(r.Values) > 1 {
		return fields.Requirement{}, errors.New("fieldSelectors do not yet support multiple values")
	}
	out := fields.Requirement{Field: r.Key, Operator: selection.Equals}
	switch r.Operator {
	case metav1.FieldSelectorOpIn:
	case metav1.FieldSelectorOpNotIn:
		out.Operator = selection.NotEquals
	case metav1.FieldSelectorOpExists, metav1.FieldSelectorOpDoesNotExist:
		return out, fmt.Errorf("fieldSelectors do not yet support %v", r.Operator)
	default:
		return out, fmt.Errorf("%q is not a valid field selector operator", r.Operator)
	}
	if len(r.Values) != 1 {
		return out, errors.New("fieldSelectors must have one value")
	}
	out.Value = r.Values[0]
	return out, nil
}

var labelOperators = map[metav1.LabelSelectorOperator]selection.Operator{
	metav1.LabelSelectorOpIn:           selection.In,
	metav1.LabelSelectorOpNotIn:        selection.NotIn,
	metav1.LabelSelectorOpExists:       selection.Exists,
	metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
}

// labelRequirements returns the valid requirements, as fieldRequirements does.
func labelRequirements(s *authorizationv1.LabelSelectorAttributes) (labels.Requirements, error) {
	if len(s.Requirements) == 0 {
		selector, err := labels.Parse(s.RawSelector)
		if err != nil {
			return nil, err
		}
		requirements, _ := selector.Requirements()
		return requirements, nil
	}
	var understood labels.Requirements
	var errs []error
	for _, r := range s.Requirements {
		operator, ok := labelOperators[r.Operator]
		if !ok {
			errs = append(errs, fmt.Errorf("%q is not a valid label selector operator", r.Operator))
			continue
		}
		one, err := labels.NewRequirement(r.Key, operator, r.Values)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		understood = append(understood, *one)
	}
	return understood, utilerrors.NewAggregate(errs)
}
