// Package job is the resource jobs: pods that run until enough of them have succeeded.
//
// It owns their defaults, the selector and the labels that are made of the job's UID, what of a job may change when, and which
// ways its status may go. The rules for a spec, which cron jobs share, are in batch/jobspec.
//
// Deleting a job leaves its pods behind unless the client says otherwise. Clients of batch/v1 have always expected that; they
// are warned of it.
package job
