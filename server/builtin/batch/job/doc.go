// Package job is the resource jobs: pods that run until enough of them have succeeded.
//
// It owns their defaults, the selector and the labels generated from the job's UID, the rules for updates, and the
// transitions of the status. The rules for a spec, which cron jobs share, are in batch/jobspec.
//
// Deleting a job leaves its pods behind unless the client says otherwise. Clients of batch/v1 have always expected that; they
// are warned of it.
package job
