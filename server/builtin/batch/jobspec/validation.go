package jobspec

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// Limits keep the lists of indexes in a job's status short.
const (
	maxParallelism   = 100_000
	maxFailedIndexes = 100_000

	manyCompletions         = 100_000
	maxParallelismForMany   = 10_000
	maxFailedIndexesForMany = 10_000

	maxManagedBy = 63
)

// Validate validates all of a spec except its selector.
func Validate(spec *batchv1.JobSpec, path *field.Path, opts podspec.Options) field.ErrorList {
	errs := validateNumbers(spec, path)
	if by := spec.ManagedBy; by != nil {
		at := path.Child("managedBy")
		errs = append(errs, validation.IsDomainPrefixedPath(at, *by)...)
		if len(*by) > maxManagedBy {
			errs = append(errs, field.TooLong(at, "", maxManagedBy))
		}
	}
	errs = append(errs, validateCompletionMode(spec, path)...)
	if spec.PodFailurePolicy != nil {
		errs = append(errs, validateFailurePolicy(spec, path.Child("podFailurePolicy"))...)
	}
	if spec.SuccessPolicy != nil {
		at := path.Child("successPolicy")
		if IsIndexed(spec) {
			errs = append(errs, validateSuccessPolicy(spec, at)...)
		} else {
			errs = append(errs, field.Invalid(at, builtin.Quote(spec.SuccessPolicy), "requires indexed completion mode"))
		}
	}
	errs = append(errs, validateReplacementPolicy(spec, path.Child("podReplacementPolicy"))...)
	at := path.Child("template")
	errs = append(errs, podspec.ValidatePodTemplateSpec(&spec.Template, at, opts)...)
	return append(errs, validateRestartPolicy(spec, at.Child("spec", "restartPolicy"))...)
}

// IsIndexed reports whether each pod of a job has an index.
func IsIndexed(spec *batchv1.JobSpec) bool {
	return ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

func validateNumbers(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	widen := func(n *int32) *int64 {
		if n == nil {
			return nil
		}
		return new(int64(*n))
	}
	for _, n := range []struct {
		name  string
		value *int64
	}{
		{"parallelism", widen(spec.Parallelism)},
		{"completions", widen(spec.Completions)},
		{"activeDeadlineSeconds", spec.ActiveDeadlineSeconds},
		{"backoffLimit", widen(spec.BackoffLimit)},
		{"ttlSecondsAfterFinished", widen(spec.TTLSecondsAfterFinished)},
		{"backoffLimitPerIndex", widen(spec.BackoffLimitPerIndex)},
		{"maxFailedIndexes", widen(spec.MaxFailedIndexes)},
	} {
		if n.value != nil {
			errs = append(errs, apivalidation.ValidateNonnegativeField(*n.value, path.Child(n.name))...)
		}
	}
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Required(path.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
	}
	return errs
}

func validateCompletionMode(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch mode := ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion); mode {
	case batchv1.IndexedCompletion:
		return validateIndexed(spec, path)
	case batchv1.NonIndexedCompletion:
		for _, n := range []struct {
			name  string
			value *int32
		}{{"backoffLimitPerIndex", spec.BackoffLimitPerIndex}, {"maxFailedIndexes", spec.MaxFailedIndexes}} {
			if n.value != nil {
				errs = append(errs, field.Invalid(path.Child(n.name), *n.value, "requires indexed completion mode"))
			}
		}
	default:
		modes := []batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion}
		errs = append(errs, field.NotSupported(path.Child("completionMode"), mode, modes))
	}
	return errs
}

func validateIndexed(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	completions, parallelism, failed := spec.Completions, spec.Parallelism, spec.MaxFailedIndexes
	parallelismPath, failedPath := path.Child("parallelism"), path.Child("maxFailedIndexes")
	if completions == nil {
		errs = append(errs, field.Required(path.Child("completions"), "when completion mode is Indexed"))
	}
	if parallelism != nil && *parallelism > maxParallelism {
		errs = append(errs, field.Invalid(parallelismPath, *parallelism,
			fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", maxParallelism)))
	}
	if completions != nil && failed != nil && *failed > *completions {
		errs = append(errs, field.Invalid(failedPath, *failed, "must be less than or equal to completions"))
	}
	if failed != nil && *failed > maxFailedIndexes {
		errs = append(errs, field.Invalid(failedPath, *failed, fmt.Sprintf("must be less than or equal to %d", maxFailedIndexes)))
	}
	if completions == nil || *completions <= manyCompletions || spec.BackoffLimitPerIndex == nil {
		return errs
	}
	limit := func(max int) string {
		return fmt.Sprintf("must be less than or equal to %d when completions are above %d and used with backoff limit per index", max,
			manyCompletions)
	}
	if failed == nil {
		errs = append(errs, field.Required(failedPath, fmt.Sprintf("must be specified when completions is above %d", manyCompletions)))
	}
	if parallelism != nil && *parallelism > maxParallelismForMany {
		errs = append(errs, field.Invalid(parallelismPath, *parallelism, limit(maxParallelismForMany)))
	}
	if failed != nil && *failed > maxFailedIndexesForMany {
		errs = append(errs, field.Invalid(failedPath, *failed, limit(maxFailedIndexesForMany)))
	}
	return errs
}

// validateReplacementPolicy allows only Failed beside a failure policy, which considers failed pods and not
// terminating ones.
func validateReplacementPolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	policies := []batchv1.PodReplacementPolicy{batchv1.Failed, batchv1.TerminatingOrFailed}
	if spec.PodFailurePolicy != nil {
		policies = policies[:1]
	}
	if spec.PodReplacementPolicy == nil {
		return nil
	}
	return oneOf(path, *spec.PodReplacementPolicy, policies)
}

func validateRestartPolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	policies := []corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}
	switch policy := spec.Template.Spec.RestartPolicy; {
	case policy == corev1.RestartPolicyAlways || policy == "":
		return field.ErrorList{field.Required(path, fmt.Sprintf("valid values: %q, %q", policies[0], policies[1]))}
	case policy == corev1.RestartPolicyOnFailure && spec.PodFailurePolicy != nil:
		return field.ErrorList{field.Invalid(path, policy,
			fmt.Sprintf("only %q is supported when podFailurePolicy is specified", corev1.RestartPolicyNever))}
	default:
		return oneOf(path, policy, policies)
	}
}
