package batch

import (
	"context"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/batch/jobspec"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// CronJob is the resource cronjobs: schedules by which a controller creates jobs.
//
// Package batch/jobspec handles the template of the jobs.
var CronJob = builtin.Resource[*batchv1.CronJob]{
	Names:   builtin.Names{Plural: "cronjobs", Singular: "cronjob", Short: []string{"cj"}, Categories: []string{"all"}},
	List:    &batchv1.CronJobList{},
	Stored:  batchv1.SchemeGroupVersion,
	Default: setCronJobDefaults,
	PrepareCreate: func(_ context.Context, c *batchv1.CronJob) {
		jobspec.DropDisabledFields(&c.Spec.JobTemplate.Spec, nil)
	},
	PrepareUpdate: func(c, old *batchv1.CronJob) {
		jobspec.DropDisabledFields(&c.Spec.JobTemplate.Spec, &old.Spec.JobTemplate.Spec)
	},
	Validate:       validateCronJob,
	ValidateUpdate: validateCronJobUpdate,
	Warnings:       cronJobWarnings,
	Spec:           func(c *batchv1.CronJob) any { return &c.Spec },
	Status: &builtin.Status[*batchv1.CronJob]{
		Of:   func(c *batchv1.CronJob) any { return &c.Status },
		Part: builtin.Part[*batchv1.CronJob]{Keep: func(c, old *batchv1.CronJob) { c.Spec = old.Spec }},
	},
	Sample: `
spec:
  schedule: "0 * * * *"
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [date]}]}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Schedule", Type: "string", Description: batchv1.CronJobSpec{}.SwaggerDoc()["schedule"]},
		{Name: "Timezone", Type: "string", Description: batchv1.CronJobSpec{}.SwaggerDoc()["timeZone"]},
		{Name: "Suspend", Type: "boolean", Description: batchv1.CronJobSpec{}.SwaggerDoc()["suspend"]},
		{Name: "Active", Type: "integer", Description: batchv1.CronJobStatus{}.SwaggerDoc()["active"]},
		{Name: "Last Schedule", Type: "string", Description: batchv1.CronJobStatus{}.SwaggerDoc()["lastScheduleTime"]},
		builtin.AgeColumn,
		workload.ContainersColumn,
		workload.ImagesColumn,
		{Name: "Selector", Type: "string", Priority: 1, Description: batchv1.JobSpec{}.SwaggerDoc()["selector"]},
	},
	Row: cronJobRow,
}

func setCronJobDefaults(c *batchv1.CronJob) {
	if c.Spec.ConcurrencyPolicy == "" {
		c.Spec.ConcurrencyPolicy = batchv1.AllowConcurrent
	}
	podspec.SetDefault(&c.Spec.Suspend, false)
	podspec.SetDefault(&c.Spec.SuccessfulJobsHistoryLimit, 3)
	podspec.SetDefault(&c.Spec.FailedJobsHistoryLimit, 1)
	jobspec.SetDefaults(&c.Spec.JobTemplate.Spec)
}

func cronJobWarnings(c, old *batchv1.CronJob) []string {
	var warnings []string
	if old == nil {
		warnings = workload.NameWarnings(c.Name)
	}
	if old == nil || c.Generation != old.Generation {
		warnings = append(warnings, jobspec.Warnings(&c.Spec.JobTemplate.Spec, cronJobSpecPath.Child("jobTemplate", "spec"))...)
	}
	if old != nil && strings.Contains(c.Spec.Schedule, "TZ") {
		warnings = append(warnings, "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, "+
			"see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
	}
	return warnings
}

func cronJobRow(c *batchv1.CronJob) metav1.TableRow {
	zone, last, suspend := "<none>", "<none>", "<unset>"
	if c.Spec.TimeZone != nil {
		zone = *c.Spec.TimeZone
	}
	if c.Status.LastScheduleTime != nil {
		last = builtin.Age(*c.Status.LastScheduleTime)
	}
	if c.Spec.Suspend != nil {
		suspend = map[bool]string{true: "True", false: "False"}[*c.Spec.Suspend]
	}
	job := &c.Spec.JobTemplate.Spec
	names, images := workload.ContainerCells(job.Template.Spec.Containers)
	return builtin.Row(c.Name, c.Spec.Schedule, zone, suspend, int64(len(c.Status.Active)), last, builtin.Age(c.CreationTimestamp),
		names, images, metav1.FormatLabelSelector(job.Selector))
}
