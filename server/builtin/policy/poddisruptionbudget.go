package policy

import (
	"context"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
)

// PodDisruptionBudget declares poddisruptionbudgets.policy, which limit the pods of a set that may be evicted at
// once.
var PodDisruptionBudget = builtin.Resource[*policyv1.PodDisruptionBudget]{
	Names:         builtin.Names{Plural: "poddisruptionbudgets", Singular: "poddisruptionbudget", Short: []string{"pdb"}},
	List:          &policyv1.PodDisruptionBudgetList{},
	Stored:        policyv1.SchemeGroupVersion,
	PrepareCreate: func(_ context.Context, b *policyv1.PodDisruptionBudget) { dropOldLabel(b.Spec.Selector) },
	PrepareUpdate: func(b, old *policyv1.PodDisruptionBudget) {
		if !apiequality.Semantic.DeepEqual(b.Spec, old.Spec) {
			b.Generation = old.Generation + 1 // a label that is dropped counts as a change
		}
		if !apiequality.Semantic.DeepEqual(b.Spec.Selector, old.Spec.Selector) {
			dropOldLabel(b.Spec.Selector)
		}
	},
	Validate:          validateBudget,
	ValidateUpdate:    validateUpdate,
	ConditionalUpdate: true,
	Spec:              func(b *policyv1.PodDisruptionBudget) any { return &b.Spec },
	Status: &builtin.Status[*policyv1.PodDisruptionBudget]{
		Of: func(b *policyv1.PodDisruptionBudget) any { return &b.Status },
		Part: builtin.Part[*policyv1.PodDisruptionBudget]{
			Keep:  func(b, old *policyv1.PodDisruptionBudget) { b.Spec = old.Spec },
			Check: validateStatusUpdate,
		},
	},
	Sample: `
spec:
  minAvailable: 1
  selector: {matchLabels: {app: NAME}}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Min Available", Type: "string", Description: "The minimum number of pods that must be available."},
		{Name: "Max Unavailable", Type: "string", Description: "The maximum number of pods that may be unavailable."},
		{Name: "Allowed Disruptions", Type: "integer", Description: "Calculated number of pods that may be disrupted at this time."},
		builtin.AgeColumn,
	},
	Row: func(b *policyv1.PodDisruptionBudget) metav1.TableRow {
		return builtin.Row(b.Name, cell(b.Spec.MinAvailable), cell(b.Spec.MaxUnavailable), int64(b.Status.DisruptionsAllowed),
			builtin.Age(b.CreationTimestamp))
	},
}

func cell(n *intstr.IntOrString) string {
	if n == nil {
		return "N/A"
	}
	return n.String()
}

// oldLabel is on no pod. policy/v1beta1 uses it in its selectors for all pods and for none.
const oldLabel = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

// dropOldLabel removes the label from selectors, except from the selector for no pods.
func dropOldLabel(selector *metav1.LabelSelector) {
	nothing := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: oldLabel,
		Operator: metav1.LabelSelectorOpExists}}}
	if selector != nil && !apiequality.Semantic.DeepEqual(selector, nothing) {
		selector.MatchExpressions = slices.DeleteFunc(selector.MatchExpressions,
			func(r metav1.LabelSelectorRequirement) bool { return r.Key == oldLabel })
	}
}

func validateBudget(b *policyv1.PodDisruptionBudget) field.ErrorList {
	return validateSpec(&b.Spec, false)
}

// validateUpdate lets a stored budget keep label values that are no longer valid.
func validateUpdate(b, old *policyv1.PodDisruptionBudget) field.ErrorList {
	wrong := metav1validation.ValidateLabelSelector(old.Spec.Selector, metav1validation.LabelSelectorValidationOptions{}, nil)
	return validateSpec(&b.Spec, len(wrong) > 0)
}

func validateSpec(spec *policyv1.PodDisruptionBudgetSpec, tolerant bool) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec")
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		errs = append(errs, field.Invalid(path, builtin.Quote(spec), "minAvailable and maxUnavailable cannot be both set"))
	}
	for _, n := range []struct {
		name  string
		value *intstr.IntOrString
	}{{"minAvailable", spec.MinAvailable}, {"maxUnavailable", spec.MaxUnavailable}} {
		if n.value != nil {
			errs = append(errs, workload.ValidateCountOrPercent(n.value, path.Child(n.name))...)
			errs = append(errs, workload.ValidateAtMost100Percent(n.value, path.Child(n.name))...)
		}
	}
	errs = append(errs, metav1validation.ValidateLabelSelector(spec.Selector,
		metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: tolerant}, path.Child("selector"))...)
	policies := []policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow, policyv1.IfHealthyBudget}
	if p := spec.UnhealthyPodEvictionPolicy; p != nil && !slices.Contains(policies, *p) {
		errs = append(errs, field.NotSupported(path.Child("unhealthyPodEvictionPolicy"), *p, policies))
	}
	return errs
}

func validateStatusUpdate(b, _ *policyv1.PodDisruptionBudget) field.ErrorList {
	s := &b.Status
	errs := metav1validation.ValidateConditions(s.Conditions, field.NewPath("status", "conditions"))
	return append(errs, workload.ValidateCounts([]workload.Count{
		{Name: "disruptionsAllowed", Value: int64(s.DisruptionsAllowed)},
		{Name: "currentHealthy", Value: int64(s.CurrentHealthy)},
		{Name: "desiredHealthy", Value: int64(s.DesiredHealthy)},
		{Name: "expectedPods", Value: int64(s.ExpectedPods)},
	})...)
}
