package batch

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/batch/jobspec"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var cronJobSpecPath = field.NewPath("spec")

// maxName leaves room for the suffix of a job's name: a dash and a time in minutes.
const maxName = validation.DNS1035LabelMaxLength - 11

func validateCronJob(c *batchv1.CronJob) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&c.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateCronJobSpec(&c.Spec, nil, podspec.Options{})...)
	if len(c.Name) > maxName {
		errs = append(errs,
			field.Invalid(field.NewPath("metadata", "name"), c.Name, fmt.Sprintf("must be no more than %d characters", maxName)))
	}
	return append(errs, validateHasSchedule(&c.Spec)...)
}

func validateCronJobUpdate(c, old *batchv1.CronJob) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	template := &old.Spec.JobTemplate.Spec.Template
	errs = append(errs,
		validateCronJobSpec(&c.Spec, &old.Spec, podspec.Options{Tolerated: podspec.MistakesIn(&template.Spec, template.Annotations)})...)
	return append(errs, validateHasSchedule(&c.Spec)...)
}

// validateHasSchedule comes last: a kube-apiserver checks declared rules after the rules in its code.
func validateHasSchedule(spec *batchv1.CronJobSpec) field.ErrorList {
	if spec.Schedule != "" {
		return nil
	}
	return field.ErrorList{field.Required(cronJobSpecPath.Child("schedule"), "")}
}

func validateCronJobSpec(spec, old *batchv1.CronJobSpec, opts podspec.Options) field.ErrorList {
	var errs field.ErrorList
	nonnegative := func(name string, value *int64) {
		if value != nil {
			errs = append(errs, apivalidation.ValidateNonnegativeField(*value, cronJobSpecPath.Child(name))...)
		}
	}
	if spec.Schedule != "" {
		errs = append(errs, validateSchedule(spec, old, cronJobSpecPath.Child("schedule"))...)
	}
	nonnegative("startingDeadlineSeconds", spec.StartingDeadlineSeconds)
	if spec.TimeZone != nil && (old == nil || !ptr.Equal(spec.TimeZone, old.TimeZone)) {
		errs = append(errs, validateTimeZone(*spec.TimeZone, cronJobSpecPath.Child("timeZone"))...)
	}
	errs = append(errs, validateConcurrency(spec.ConcurrencyPolicy, cronJobSpecPath.Child("concurrencyPolicy"))...)
	errs = append(errs, validateTemplate(&spec.JobTemplate.Spec, cronJobSpecPath.Child("jobTemplate", "spec"), opts)...)
	for _, n := range []struct {
		name  string
		value *int32
	}{{"successfulJobsHistoryLimit", spec.SuccessfulJobsHistoryLimit}, {"failedJobsHistoryLimit", spec.FailedJobsHistoryLimit}} {
		if n.value != nil {
			nonnegative(n.name, new(int64(*n.value)))
		}
	}
	return errs
}

func validateConcurrency(policy batchv1.ConcurrencyPolicy, path *field.Path) field.ErrorList {
	policies := []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}
	if slices.Contains(policies, policy) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, policy, policies)}
}

// validateTemplate rejects a selector: the server generates one for each job.
func validateTemplate(spec *batchv1.JobSpec, path *field.Path, opts podspec.Options) field.ErrorList {
	errs := jobspec.Validate(spec, path, opts)
	if spec.Selector != nil {
		errs = append(errs, field.Invalid(path.Child("selector"), spec.Selector, "`selector` will be auto-generated"))
	}
	if ptr.Deref(spec.ManualSelector, false) {
		errs = append(errs, field.NotSupported(path.Child("manualSelector"), spec.ManualSelector, []string{"nil", "false"}))
	}
	return errs
}
