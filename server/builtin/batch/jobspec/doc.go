// Package jobspec defaults and validates the specs of jobs.
//
// It owns what a job and the job template of a cron job have in common. What comes in is a batchv1.JobSpec; what goes out is
// that spec filled in, or a list of field errors with the paths and messages of the Kubernetes API server. What only a job
// has, its selector and its status, is the business of that resource.
package jobspec
