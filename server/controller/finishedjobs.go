package controller

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// finishedJobs deletes finished jobs after their time to live, in the foreground: the pods of a job are deleted
// first.
//
// A job is judged by its state when its time comes, and deleted only if it has not changed: one that is created
// again, or gets another time to live, is judged again. Between the end of a job and its deletion there is
// nothing to do. A job whose condition has no transition time stays.
var finishedJobs = controller{
	name: "ttl-after-finished-controller", short: "ttl-after-finished", does: "delete finished jobs when their time is over",
	account: "ttl-after-finished-controller", workers: 5,
	follows: []schema.GroupVersionResource{batchv1.SchemeGroupVersion.WithResource("jobs")}, make: each(deleteFinishedJob),
}

var jobOutlived = trace.Because("job-outlived",
	"the job has been finished for the {seconds} seconds that it was to stay",
	"该 Job 已结束，并已保留了它要求的 {seconds} 秒")

// deleteFinishedJob deletes a job whose time has come.
func deleteFinishedJob(ctx context.Context, jobs *work.Objects[*batchv1.Job], job *batchv1.Job, cause int64) error {
	ends, ok := jobEnds(job)
	if !ok {
		return nil
	}
	if left := time.Until(ends); left > 0 {
		return work.After(left)
	}
	lives := int64(*job.Spec.TTLSecondsAfterFinished)
	return jobs.Delete(ctx, job, metav1.DeletePropagationForeground, work.Decision{
		Cause: cause, Why: func(step *trace.Step) { step.Why(jobOutlived, lives) },
	})
}

// jobEnds returns the time to delete a job; false if the job has no end as it is.
func jobEnds(job *batchv1.Job) (time.Time, bool) {
	if job.DeletionTimestamp != nil || job.Spec.TTLSecondsAfterFinished == nil {
		return time.Time{}, false
	}
	for _, condition := range job.Status.Conditions {
		finished := condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed
		if finished && condition.Status == corev1.ConditionTrue {
			lives := time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second
			return condition.LastTransitionTime.Add(lives), !condition.LastTransitionTime.IsZero()
		}
	}
	return time.Time{}, false
}
