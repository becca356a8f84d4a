package batch

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/batch/jobspec"
)

var statusPath = field.NewPath("status")

func isTrue(j *batchv1.Job, condition batchv1.JobConditionType) bool {
	return hasCondition(j, condition, corev1.ConditionTrue)
}

func hasCondition(j *batchv1.Job, condition batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	for _, c := range j.Status.Conditions {
		if c.Type == condition && c.Status == status {
			return true
		}
	}
	return false
}

// view is a job with its conditions parsed.
type view struct {
	*batchv1.Job

	complete, failed, finished, failureTarget, successMet bool
}

func viewOf(j *batchv1.Job) view {
	v := view{Job: j, complete: isTrue(j, batchv1.JobComplete), failed: isTrue(j, batchv1.JobFailed),
		failureTarget: isTrue(j, batchv1.JobFailureTarget), successMet: isTrue(j, batchv1.JobSuccessCriteriaMet)}
	v.finished = v.complete || v.failed
	return v
}

// rule rejects a status if wrong, but only if one of the rule's values changed. A job may keep an old mistake: a
// controller needs time to follow a change of the spec.
type rule struct {
	changed, wrong bool
	err            func() *field.Error
}

func validateStatusUpdate(j, old *batchv1.Job) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&j.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateCounts(&j.Status)...)
	now, was := viewOf(j), viewOf(old)
	for _, rules := range [][]rule{endRules(now, was), finishedRules(now, was), indexRules(now, was), podRules(now, was),
		transitionRules(now, was)} {
		for _, r := range rules {
			if r.changed && r.wrong {
				errs = append(errs, r.err())
			}
		}
	}
	return errs
}

func validateCounts(s *batchv1.JobStatus) field.ErrorList {
	var errs field.ErrorList
	for _, n := range []struct {
		name  string
		value *int32
	}{{"active", &s.Active}, {"succeeded", &s.Succeeded}, {"failed", &s.Failed}, {"ready", s.Ready}, {"terminating", s.Terminating}} {
		if n.value != nil {
			errs = append(errs, apivalidation.ValidateNonnegativeField(int64(*n.value), statusPath.Child(n.name))...)
		}
	}
	if s.UncountedTerminatedPods == nil {
		return errs
	}
	path := statusPath.Child("uncountedTerminatedPods")
	seen := sets.New[types.UID]()
	for _, list := range []struct {
		name string
		uids []types.UID
	}{{"succeeded", s.UncountedTerminatedPods.Succeeded}, {"failed", s.UncountedTerminatedPods.Failed}} {
		for i, uid := range list.uids {
			at := path.Child(list.name).Index(i)
			if uid == "" {
				errs = append(errs, field.Invalid(at, uid, "must not be empty"))
			} else if seen.Has(uid) {
				errs = append(errs, field.Duplicate(at, uid))
			}
			seen.Insert(uid)
		}
	}
	return errs
}

func conditions(message string) func() *field.Error {
	return func() *field.Error {
		return field.Invalid(statusPath.Child("conditions"), field.OmitValueType{}, message)
	}
}

func invalid(name string, value any, message string) func() *field.Error {
	return func() *field.Error { return field.Invalid(statusPath.Child(name), value, message) }
}

func required(name, message string) func() *field.Error {
	return func() *field.Error { return field.Required(statusPath.Child(name), message) }
}

// endRules checks the end of a job and its time.
func endRules(now, was view) []rule {
	s := &now.Status
	end, complete := s.CompletionTime, now.complete != was.complete
	ended := !ptr.Equal(was.Status.CompletionTime, end)
	started := !ptr.Equal(was.Status.StartTime, s.StartTime)
	return []rule{
		{complete || now.failed != was.failed, now.complete && now.failed,
			conditions("cannot set Complete=True and Failed=true conditions")},
		{complete || now.failureTarget != was.failureTarget, now.complete && now.failureTarget,
			conditions("cannot set Complete=True and FailureTarget=true conditions")},
		{complete || ended, end != nil && !now.complete,
			invalid("completionTime", end, "cannot set completionTime when there is no Complete=True condition")},
		{complete || ended, end == nil && now.complete, required("completionTime", "completionTime is required for Complete jobs")},
		{started || ended, s.StartTime != nil && end != nil && end.Before(s.StartTime),
			invalid("completionTime", end, "must be equal to or after `startTime`")},
		{now.failed != was.failed || failedIndexesChanged(now, was), now.failed && !now.failureTarget,
			conditions("cannot set Failed=True condition without the FailureTarget=true condition")},
		{complete || now.successMet != was.successMet, now.complete && !now.successMet,
			conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")},
	}
}

func failedIndexesChanged(now, was view) bool {
	return !ptr.Equal(was.Status.FailedIndexes, now.Status.FailedIndexes)
}

// finishedRules checks the counts of a job that has ended.
func finishedRules(now, was view) []rule {
	s, finished := &now.Status, now.finished != was.finished
	pods := s.UncountedTerminatedPods
	// A suspended job without pods ends before it starts.
	empty := ptr.Deref(now.Spec.Suspend, false) && ptr.Equal(now.Spec.Completions, new(int32(0)))
	return []rule{
		{finished || s.Active != was.Status.Active, s.Active > 0 && now.finished,
			invalid("active", s.Active, "active>0 is invalid for finished job")},
		{(finished || !ptr.Equal(was.Status.StartTime, s.StartTime)) && !empty, s.StartTime == nil && now.finished,
			required("startTime", "startTime is required for finished job")},
		{finished || !apiequality.Semantic.DeepEqual(pods, was.Status.UncountedTerminatedPods),
			now.finished && pods != nil && len(pods.Failed)+len(pods.Succeeded) > 0,
			invalid("uncountedTerminatedPods", builtin.Quote(pods), "must be empty for finished job")},
	}
}

// indexRules checks the lists of succeeded and failed indexes.
func indexRules(now, was view) []rule {
	s, spec := &now.Status, &now.Spec
	completedChanged, failedChanged := s.CompletedIndexes != was.Status.CompletedIndexes, failedIndexesChanged(now, was)
	completions := ptr.Deref(spec.Completions, 0)
	failed := ptr.Deref(s.FailedIndexes, "")
	var completedErr, failedErr, overlapErr error
	if spec.Completions != nil {
		_, completedErr = jobspec.CountIndexes(s.CompletedIndexes, completions)
		overlapErr = jobspec.CheckDisjoint(s.CompletedIndexes, failed, completions)
		if spec.BackoffLimitPerIndex != nil {
			_, failedErr = jobspec.CountIndexes(failed, completions)
		}
	}
	wrong := func(name string, value any, err error) func() *field.Error {
		return func() *field.Error {
			return field.Invalid(statusPath.Child(name), value, fmt.Sprintf("error parsing %s: %s", name, err))
		}
	}
	return []rule{
		{completedChanged, completedErr != nil, wrong("completedIndexes", s.CompletedIndexes, completedErr)},
		{failedChanged, failedErr != nil, wrong("failedIndexes", s.FailedIndexes, failedErr)},
		{completedChanged, s.CompletedIndexes != "" && !jobspec.IsIndexed(spec),
			invalid("completedIndexes", s.CompletedIndexes, "cannot set non-empty completedIndexes when non-indexed completion mode")},
		{failedChanged, spec.BackoffLimitPerIndex == nil && s.FailedIndexes != nil,
			invalid("failedIndexes", failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null")},
		{completedChanged || failedChanged, overlapErr != nil,
			func() *field.Error {
				return field.Invalid(statusPath.Child("failedIndexes"), failed, overlapErr.Error())
			}},
	}
}

// podRules checks the counts of pods, and conditions that exclude each other.
func podRules(now, was view) []rule {
	s := &now.Status
	ready, terminating := ptr.Deref(s.Ready, 0), ptr.Deref(s.Terminating, 0)
	return []rule{
		{now.finished != was.finished || !ptr.Equal(was.Status.Terminating, s.Terminating), terminating > 0 && now.finished,
			invalid("terminating", s.Terminating, "terminating>0 is invalid for finished job")},
		{!ptr.Equal(was.Status.Ready, s.Ready) || s.Active != was.Status.Active, s.Ready != nil && ready > s.Active,
			invalid("ready", ready, "cannot set more ready pods than active")},
		{true, now.successMet && now.failed, conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")},
		{true, now.successMet && now.failureTarget, conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")},
		{true, now.Spec.SuccessPolicy != nil && !now.successMet && now.complete,
			conditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")},
	}
}

// transitionRules rejects changes that revert an earlier status.
func transitionRules(now, was view) []rule {
	s := &now.Status
	// An indexed job that runs all indexes at once can shrink. It then loses succeeded indexes.
	shrinks := jobspec.IsIndexed(&now.Spec) && ptr.Equal(now.Spec.Completions, now.Spec.Parallelism)
	resumes := isTrue(was.Job, batchv1.JobSuspended) && hasCondition(now.Job, batchv1.JobSuspended, corev1.ConditionFalse)
	started := !ptr.Equal(was.Status.StartTime, s.StartTime)
	return []rule{
		{true, was.failed && !now.failed, conditions("cannot disable the terminal Failed=True condition")},
		{true, was.complete && !now.complete, conditions("cannot disable the terminal Complete=True condition")},
		{true, was.failureTarget && !now.failureTarget, conditions("cannot disable the terminal FailureTarget=True condition")},
		{true, s.Failed < was.Status.Failed, invalid("failed", s.Failed, "cannot decrease the failed counter")},
		{!shrinks, s.Succeeded < was.Status.Succeeded, invalid("succeeded", s.Succeeded, "cannot decrease the succeeded counter")},
		{true, s.CompletionTime != nil && was.Status.CompletionTime != nil && !ptr.Equal(s.CompletionTime, was.Status.CompletionTime),
			invalid("completionTime", s.CompletionTime, "field is immutable")},
		{started && !resumes, was.Status.StartTime != nil && !ptr.Deref(now.Spec.Suspend, false),
			invalid("startTime", s.StartTime, "field is immutable for unsuspended job once set")},
		{true, was.successMet && !now.successMet, conditions("cannot disable the SuccessCriteriaMet=True condition")},
		{true, was.complete && !was.successMet && now.successMet,
			conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")},
	}
}
