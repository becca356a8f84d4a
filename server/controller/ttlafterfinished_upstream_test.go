package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// createJob makes a job that nobody runs. A ttl of -1 is none.
func createJob(s *controllertest.Stage, name string, ttl int32, finalizers ...string) *batchv1.Job {
	s.T.Helper()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
		Spec: batchv1.JobSpec{
			ManagedBy: new("example.com/nobody"),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
			}},
		},
	}
	if ttl >= 0 {
		job.Spec.TTLSecondsAfterFinished = new(ttl)
	}
	return must[*batchv1.Job](s.T)(s.BatchV1().Jobs(s.Namespace).Create(s.T.Context(), job, metav1.CreateOptions{}))
}

// finishJob says that a job has been finished for some time, by a condition that is true, or for something else that is not.
func finishJob(s *controllertest.Stage, job *batchv1.Job, condition batchv1.JobConditionType, status corev1.ConditionStatus, since time.Duration) {
	s.T.Helper()
	at := metav1.NewTime(time.Now().Add(-since))
	started := metav1.NewTime(at.Add(-time.Minute))
	first := batchv1.JobSuccessCriteriaMet
	if condition == batchv1.JobFailed {
		first = batchv1.JobFailureTarget
	}
	is := func(condition batchv1.JobConditionType) batchv1.JobCondition {
		return batchv1.JobCondition{Type: condition, Status: status, LastTransitionTime: at, LastProbeTime: at}
	}
	job.Status.StartTime = &started
	job.Status.Conditions = []batchv1.JobCondition{is(first), is(condition)}
	if condition == batchv1.JobComplete && status == corev1.ConditionTrue {
		job.Status.CompletionTime = &at
	}
	must[*batchv1.Job](s.T)(s.BatchV1().Jobs(s.Namespace).UpdateStatus(s.T.Context(), job, metav1.UpdateOptions{}))
}

func changeJob(s *controllertest.Stage, name, patch string) {
	s.T.Helper()
	must[*batchv1.Job](s.T)(s.BatchV1().Jobs(s.Namespace).Patch(s.T.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))
}

var jobScenes = map[string]func(*controllertest.Stage){
	"complete": func(s *controllertest.Stage) {
		finishJob(s, createJob(s, "long-ago", 60), batchv1.JobComplete, corev1.ConditionTrue, time.Hour)
		finishJob(s, createJob(s, "just-now", 3600), batchv1.JobComplete, corev1.ConditionTrue, time.Minute)
		finishJob(s, createJob(s, "at-once", 0), batchv1.JobComplete, corev1.ConditionTrue, 0)
		finishJob(s, createJob(s, "soon", 2), batchv1.JobComplete, corev1.ConditionTrue, 0)
		finishJob(s, createJob(s, "for-ever", -1), batchv1.JobComplete, corev1.ConditionTrue, time.Hour)
		createJob(s, "running", 0)
	},
	"failed": func(s *controllertest.Stage) {
		finishJob(s, createJob(s, "failed", 60), batchv1.JobFailed, corev1.ConditionTrue, time.Hour)
		finishJob(s, createJob(s, "not-failed", 60), batchv1.JobFailed, corev1.ConditionFalse, time.Hour)
		finishJob(s, createJob(s, "suspended", 60), batchv1.JobSuspended, corev1.ConditionTrue, time.Hour)
	},
	"another ttl": func(s *controllertest.Stage) {
		finishJob(s, createJob(s, "shorter", 7200), batchv1.JobComplete, corev1.ConditionTrue, time.Hour)
		changeJob(s, "shorter", `{"spec":{"ttlSecondsAfterFinished":60}}`)
		finishJob(s, createJob(s, "given", -1), batchv1.JobComplete, corev1.ConditionTrue, time.Hour)
		changeJob(s, "given", `{"spec":{"ttlSecondsAfterFinished":60}}`)
		finishJob(s, createJob(s, "longer", 3), batchv1.JobComplete, corev1.ConditionTrue, 0)
		changeJob(s, "longer", `{"spec":{"ttlSecondsAfterFinished":3600}}`)
		finishJob(s, createJob(s, "taken", 3), batchv1.JobComplete, corev1.ConditionTrue, 0)
		changeJob(s, "taken", `{"spec":{"ttlSecondsAfterFinished":null}}`)
	},
	"in the foreground": func(s *controllertest.Stage) {
		job := createJob(s, "owner", 60)
		must[*corev1.ConfigMap](s.T)(s.CoreV1().ConfigMaps(s.Namespace).Create(s.T.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: "of-owner", Finalizers: []string{held},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, BlockOwnerDeletion: new(true)}},
		}}, metav1.CreateOptions{}))
		finishJob(s, job, batchv1.JobComplete, corev1.ConditionTrue, time.Hour)
		finishJob(s, createJob(s, "held", 60, held), batchv1.JobComplete, corev1.ConditionTrue, time.Hour)
	},
}

func jobState(s *controllertest.Stage) (lines []string) {
	s.T.Helper()
	for _, job := range must[*batchv1.JobList](s.T)(s.BatchV1().Jobs(s.Namespace).List(s.T.Context(), metav1.ListOptions{})).Items {
		line := job.Name
		if ttl := job.Spec.TTLSecondsAfterFinished; ttl != nil {
			line += fmt.Sprintf(" for %d s", *ttl)
		}
		for _, condition := range job.Status.Conditions {
			line += fmt.Sprintf(" %s=%s", condition.Type, condition.Status)
		}
		if job.DeletionTimestamp != nil {
			finalizers := slices.Sorted(slices.Values(job.Finalizers))
			line += " deleted, waits for " + strings.Join(finalizers, ", ")
		}
		lines = append(lines, line)
	}
	return lines
}

// TestTTLUpstream plays scenes, and waits for what is left of each with a kube-apiserver v1.37.1 and its kube-controller-manager.
func TestTTLUpstream(t *testing.T) {
	t.Parallel()
	all := controllertest.Scenes{Answers: "ttlafterfinished.json", Play: jobScenes, State: jobState, Quiet: 6 * time.Second}
	all.Compare(t, ordinary.Clients)
}
