package batch

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/batch/jobspec"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	namePath    = field.NewPath("metadata", "name")
	jobSpecPath = field.NewPath("spec")
)

func validateJob(j *batchv1.Job) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&j.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	if !ptr.Deref(j.Spec.ManualSelector, false) && j.Spec.Selector != nil {
		errs = append(errs, validateGenerated(j)...)
	}
	errs = append(errs, validateJobSpec(&j.Spec, podspec.Options{})...)
	return append(errs, validateHostnames(j)...)
}

// validateGenerated requires the generated labels and selector: with others, a job would not select exactly its own
// pods.
func validateGenerated(j *batchv1.Job) field.ErrorList {
	var errs field.ErrorList
	if j.UID == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "uid"), ""))
	}
	path := jobSpecPath.Child("template", "metadata", "labels")
	generated := labels.Set{}
	for _, label := range []struct{ key, value string }{
		{oldUIDLabel, string(j.UID)}, {oldNameLabel, j.Name}, {batchv1.ControllerUidLabel, string(j.UID)}, {batchv1.JobNameLabel, j.Name},
	} {
		generated[label.key] = label.value
		message := fmt.Sprintf("must be '%s'", label.value)
		if value, ok := j.Spec.Template.Labels[label.key]; !ok {
			errs = append(errs, field.Required(path.Key(label.key), message))
		} else if value != label.value {
			errs = append(errs, field.Invalid(path.Key(label.key), j.Spec.Template.Labels, message))
		}
	}
	if selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector); err == nil && !selector.Matches(generated) {
		errs = append(errs, field.Invalid(jobSpecPath.Child("selector"), j.Spec.Selector, "`selector` not auto-generated"))
	}
	return errs
}

func validateJobSpec(spec *batchv1.JobSpec, opts podspec.Options) field.ErrorList {
	errs := jobspec.Validate(spec, jobSpecPath, opts)
	at := jobSpecPath.Child("selector")
	if spec.Selector == nil {
		errs = append(errs, field.Required(at, ""))
	} else {
		errs = append(errs, metav1validation.ValidateLabelSelector(spec.Selector, metav1validation.LabelSelectorValidationOptions{
			AllowInvalidLabelValueInSelector: opts.Tolerated.SelectorValues}, at)...)
	}
	if selector, err := metav1.LabelSelectorAsSelector(spec.Selector); err == nil && !selector.Matches(labels.Set(spec.Template.Labels)) {
		errs = append(errs,
			field.Invalid(jobSpecPath.Child("template", "metadata", "labels"), spec.Template.Labels,
				"`selector` does not match template `labels`"))
	}
	return errs
}

// validateHostnames requires a name that leaves room for each index in the pods' host names.
func validateHostnames(j *batchv1.Job) field.ErrorList {
	completions := ptr.Deref(j.Spec.Completions, 0)
	if !jobspec.IsIndexed(&j.Spec) || completions <= 0 {
		return nil
	}
	last := fmt.Sprintf("%s-%d", j.Name, completions-1)
	if len(validation.IsDNS1123Label(last)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(namePath, j.Name, fmt.Sprintf("will not able to create pod with invalid DNS label: %s", last))}
}

func validateJobUpdate(j, old *batchv1.Job) field.ErrorList {
	mistakes := podspec.MistakesIn(&old.Spec.Template.Spec, old.Spec.Template.Annotations)
	mistakes.SelectorValues = mistakes.SelectorValues || metav1validation.LabelSelectorHasInvalidLabelValue(old.Spec.Selector)
	spec, was := &j.Spec, &old.Spec

	errs := builtin.ValidateObjectMetaUpdate(&j.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateJobSpec(spec, podspec.Options{Tolerated: mistakes})...)
	errs = append(errs, validateCompletionsUpdate(spec, was)...)
	errs = append(errs, builtin.ValidateImmutable(spec.Selector, was.Selector, jobSpecPath.Child("selector"))...)
	errs = append(errs, validateTemplateUpdate(j, old)...)
	errs = append(errs, builtin.ValidateImmutable(spec.CompletionMode, was.CompletionMode, jobSpecPath.Child("completionMode"))...)
	errs = append(errs, builtin.ValidateImmutable(spec.PodFailurePolicy, was.PodFailurePolicy, jobSpecPath.Child("podFailurePolicy"))...)
	errs = append(errs,
		builtin.ValidateImmutable(spec.BackoffLimitPerIndex, was.BackoffLimitPerIndex, jobSpecPath.Child("backoffLimitPerIndex"))...)
	errs = append(errs, builtin.ValidateImmutable(spec.ManagedBy, was.ManagedBy, jobSpecPath.Child("managedBy"))...)
	errs = append(errs, builtin.ValidateImmutable(spec.SuccessPolicy, was.SuccessPolicy, jobSpecPath.Child("successPolicy"))...)
	return append(errs, validateHostnames(j)...)
}

// validateCompletionsUpdate allows changes only for an indexed job that runs all its indexes at once.
func validateCompletionsUpdate(spec, old *batchv1.JobSpec) field.ErrorList {
	path := jobSpecPath.Child("completions")
	if !jobspec.IsIndexed(spec) {
		return builtin.ValidateImmutable(spec.Completions, old.Completions, path)
	}
	if spec.Completions == nil || apiequality.Semantic.DeepEqual(spec.Completions, old.Completions) ||
		*spec.Completions == *spec.Parallelism {
		return nil
	}
	return field.ErrorList{field.Invalid(path, spec.Completions, "can only be modified in tandem with spec.parallelism")}
}
