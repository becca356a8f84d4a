// Package cronjob is the resource cronjobs: schedules by which a controller creates jobs.
//
// It owns their defaults, schedules and time zones. The template of the jobs is in batch/jobspec.
package cronjob
