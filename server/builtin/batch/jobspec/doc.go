// Package jobspec defaults and validates the specs of jobs.
//
// Jobs and the job templates of cron jobs share it. Errors have the paths and messages of the Kubernetes API server.
// Package batch handles the selector and the status, which only jobs have.
package jobspec
