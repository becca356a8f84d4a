package replicaset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	specPath     = field.NewPath("spec")
	templatePath = specPath.Child("template")
	statusPath   = field.NewPath("status")
)

func validate(rs *appsv1.ReplicaSet) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&rs.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateSpec(&rs.Spec, podspec.Options{})...)
}

func validateSpec(spec *appsv1.ReplicaSetSpec, opts podspec.Options) field.ErrorList {
	var errs field.ErrorList
	if spec.Replicas != nil {
		errs = append(errs, apivalidation.ValidateNonnegativeField(int64(*spec.Replicas), specPath.Child("replicas"))...)
	}
	errs = append(errs, apivalidation.ValidateNonnegativeField(int64(spec.MinReadySeconds), specPath.Child("minReadySeconds"))...)
	return append(errs, ValidateSelectorAndTemplate(spec.Selector, &spec.Template, specPath, opts)...)
}

// ValidateSelectorAndTemplate requires a selector that selects something, and pods made of the template among that. The
// message about an empty one is a deployment's, for replica sets too.
func ValidateSelectorAndTemplate(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, path *field.Path, opts podspec.Options) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("selector")
	if selector == nil {
		errs = append(errs, field.Required(at, ""))
	} else {
		errs = append(errs, metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, at)...)
		if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
			errs = append(errs, field.Invalid(at, selector, "empty selector is invalid for deployment"))
		}
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return append(errs, field.Invalid(at, selector, "invalid label selector"))
	}
	return append(errs, validateTemplate(template, parsed, path.Child("template"), opts)...)
}

func validateTemplate(template *corev1.PodTemplateSpec, selector labels.Selector, path *field.Path, opts podspec.Options) field.ErrorList {
	var errs field.ErrorList
	if !selector.Empty() && !selector.Matches(labels.Set(template.Labels)) {
		errs = append(errs, field.Invalid(path.Child("metadata", "labels"), template.Labels, "`selector` does not match template `labels`"))
	}
	errs = append(errs, podspec.ValidatePodTemplateSpec(template, path, opts)...)
	if policy := template.Spec.RestartPolicy; policy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(path.Child("spec", "restartPolicy"), policy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(path.Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in ReplicaSet is not Supported"))
	}
	return errs
}

func validateUpdate(rs, old *appsv1.ReplicaSet) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&rs.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateSpec(&rs.Spec, podspec.Options{
		Tolerated: podspec.MistakesIn(&old.Spec.Template.Spec, old.Spec.Template.Annotations),
	})...)
	return append(errs, apivalidation.ValidateImmutableField(rs.Spec.Selector, old.Spec.Selector, specPath.Child("selector"))...)
}

func validateStatusUpdate(rs, old *appsv1.ReplicaSet) field.ErrorList {
	s := &rs.Status
	errs := builtin.ValidateObjectMetaUpdate(&rs.ObjectMeta, &old.ObjectMeta)
	counts := []Count{
		{"replicas", int64(s.Replicas)},
		{"fullyLabeledReplicas", int64(s.FullyLabeledReplicas)},
		{"readyReplicas", int64(s.ReadyReplicas)},
		{"availableReplicas", int64(s.AvailableReplicas)},
		{"observedGeneration", s.ObservedGeneration},
	}
	if s.TerminatingReplicas != nil {
		counts = append(counts, Count{"terminatingReplicas", int64(*s.TerminatingReplicas)})
	}
	errs = append(errs, ValidateCounts(counts)...)
	for _, c := range counts[1:4] {
		if c.Value > int64(s.Replicas) {
			errs = append(errs, field.Invalid(statusPath.Child(c.Name), int32(c.Value), "cannot be greater than status.replicas"))
		}
	}
	if s.AvailableReplicas > s.ReadyReplicas {
		errs = append(errs, field.Invalid(statusPath.Child("availableReplicas"), s.AvailableReplicas, "cannot be greater than readyReplicas"))
	}
	return errs
}

// Count is a number in a status.
type Count struct {
	Name  string
	Value int64
}

// ValidateCounts requires that nothing is counted below 0.
func ValidateCounts(counts []Count) field.ErrorList {
	var errs field.ErrorList
	for _, c := range counts {
		errs = append(errs, apivalidation.ValidateNonnegativeField(c.Value, statusPath.Child(c.Name))...)
	}
	return errs
}
