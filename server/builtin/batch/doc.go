// Package batch declares jobs, and cron jobs, which make jobs. Their common code is in batch/jobspec.
package batch
