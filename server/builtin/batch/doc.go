// Package batch declares jobs, and the cron jobs that make them. What both know of a job is in batch/jobspec.
package batch
