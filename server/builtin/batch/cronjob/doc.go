// Package cronjob is the resource cronjobs: jobs that are made by a schedule.
//
// It owns their defaults, schedules and time zones. The template of the jobs is in batch/jobspec.
package cronjob
