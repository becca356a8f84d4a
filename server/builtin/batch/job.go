package batch

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/batch/jobspec"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// Job is the resource jobs: pods that run until enough of them have succeeded.
//
// The server generates the selector and labels from the job's UID, and checks the transitions of the status. The
// rules for a spec, which cron jobs share, are in batch/jobspec.
//
// The deletion of a job orphans its pods unless the client gives a policy. Clients of batch/v1 rely on that; the
// server warns them.
var Job = builtin.Resource[*batchv1.Job]{
	Names:   builtin.Names{Plural: "jobs", Singular: "job", Categories: []string{"all"}},
	List:    &batchv1.JobList{},
	Stored:  batchv1.SchemeGroupVersion,
	Default: setJobDefaults,
	Fields: []builtin.Field[*batchv1.Job]{
		{Label: "status.successful", Value: func(j *batchv1.Job) string { return strconv.Itoa(int(j.Status.Succeeded)) }},
	},
	FieldError: func(_ schema.GroupVersionKind, label string) error {
		return fmt.Errorf("field label %q not supported for Job", label)
	},
	PrepareCreate: func(_ context.Context, j *batchv1.Job) {
		if !*j.Spec.ManualSelector {
			generateSelector(j)
		}
		jobspec.DropDisabledFields(&j.Spec, nil)
	},
	PrepareUpdate:  func(j, old *batchv1.Job) { jobspec.DropDisabledFields(&j.Spec, &old.Spec) },
	Validate:       validateJob,
	ValidateUpdate: validateJobUpdate,
	Warnings:       jobWarnings,
	Dependents:     dependents,
	Spec:           func(j *batchv1.Job) any { return &j.Spec },
	Status: &builtin.Status[*batchv1.Job]{
		Of: func(j *batchv1.Job) any { return &j.Status },
		Part: builtin.Part[*batchv1.Job]{
			Keep:  func(j, old *batchv1.Job) { j.Spec = old.Spec },
			Check: validateStatusUpdate,
		},
	},
	Sample: `
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [date]}]}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Status", Type: "string", Description: "Status of the job."},
		{Name: "Completions", Type: "string", Description: batchv1.JobStatus{}.SwaggerDoc()["succeeded"]},
		{Name: "Duration", Type: "string", Description: "Time required to complete the job."},
		builtin.AgeColumn,
		workload.ContainersColumn,
		workload.ImagesColumn,
		{Name: "Selector", Type: "string", Priority: 1, Description: batchv1.JobSpec{}.SwaggerDoc()["selector"]},
	},
	Row:  jobRow,
	REST: builtin.Make(newREST),
}

var dependents = workload.OrphansOf(batchv1.SchemeGroupVersion)

func setJobDefaults(j *batchv1.Job) {
	spec := &j.Spec
	if spec.Parallelism == nil && spec.Completions == nil {
		spec.Completions = new(int32(1))
	}
	podspec.SetDefault(&spec.Parallelism, 1)
	limit := int32(6)
	if spec.BackoffLimitPerIndex != nil {
		limit = math.MaxInt32 // the limit of each index ends the job
	}
	podspec.SetDefault(&spec.BackoffLimit, limit)
	if labels := spec.Template.Labels; labels != nil && len(j.Labels) == 0 {
		j.Labels = labels // one map: the labels generated for the template become the job's too
	}
	podspec.SetDefault(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	podspec.SetDefault(&spec.Suspend, false)
	replace := batchv1.TerminatingOrFailed
	if spec.PodFailurePolicy != nil {
		replace = batchv1.Failed
	}
	podspec.SetDefault(&spec.PodReplacementPolicy, replace)
	podspec.SetDefault(&spec.ManualSelector, false)
	jobspec.SetDefaults(spec)
}

// generateSelector makes the job select its own pods by its UID. It keeps other values of the client, and validation
// rejects them.
func generateSelector(j *batchv1.Job) {
	template := &j.Spec.Template
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	setIfAbsent(template.Labels, nameLabels(j))
	setIfAbsent(template.Labels, uidLabels(j))
	if j.Spec.Selector == nil {
		j.Spec.Selector = &metav1.LabelSelector{}
	}
	if j.Spec.Selector.MatchLabels == nil {
		j.Spec.Selector.MatchLabels = map[string]string{}
	}
	setIfAbsent(j.Spec.Selector.MatchLabels, map[string]string{batchv1.ControllerUidLabel: string(j.UID)})
}

// Older releases use the labels without a prefix.
const (
	oldUIDLabel  = "controller-uid"
	oldNameLabel = "job-name"
)

func nameLabels(j *batchv1.Job) map[string]string {
	return map[string]string{oldNameLabel: j.Name, batchv1.JobNameLabel: j.Name}
}

func uidLabels(j *batchv1.Job) map[string]string {
	return map[string]string{oldUIDLabel: string(j.UID), batchv1.ControllerUidLabel: string(j.UID)}
}

func setIfAbsent(labels, more map[string]string) {
	for key, value := range more {
		if _, ok := labels[key]; !ok {
			labels[key] = value
		}
	}
}

func jobWarnings(j, old *batchv1.Job) []string {
	var name []string
	if old == nil {
		name = workload.NameWarnings(j.Name)
	} else if j.Generation == old.Generation {
		return nil
	}
	return append(name, jobspec.Warnings(&j.Spec, jobSpecPath)...)
}

func jobRow(j *batchv1.Job) metav1.TableRow {
	names, images := workload.ContainerCells(j.Spec.Template.Spec.Containers)
	return builtin.Row(j.Name, jobState(j), completions(j), elapsed(&j.Status), builtin.Age(j.CreationTimestamp),
		names, images, metav1.FormatLabelSelector(j.Spec.Selector))
}

func jobState(j *batchv1.Job) string {
	for _, end := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if isTrue(j, end) {
			return string(end)
		}
	}
	if j.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, way := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if isTrue(j, way) {
			return string(way)
		}
	}
	return "Running"
}

func completions(j *batchv1.Job) string {
	parallelism := ptr.Deref(j.Spec.Parallelism, 0)
	switch {
	case j.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
	case parallelism > 1:
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, parallelism)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

func elapsed(s *batchv1.JobStatus) string {
	switch {
	case s.StartTime == nil:
		return ""
	case s.CompletionTime == nil:
		return duration.HumanDuration(time.Since(s.StartTime.Time))
	}
	return duration.HumanDuration(s.CompletionTime.Sub(s.StartTime.Time))
}
