// Package jobspec defaults and validates the specs of jobs.
//
// It owns the rules that a job and the job template of a cron job share. In comes a batchv1.JobSpec; out goes that spec
// with its defaults, or a list of field errors with the paths and messages of the Kubernetes API server. Package job
// owns the selector and the status, which only jobs have.
package jobspec
