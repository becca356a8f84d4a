// Package ttlafterfinished deletes jobs that have been finished for as long as they say, as kube-controller-manager's
// ttl-after-finished-controller does.
//
// In come the keys of jobs that change. Out go deletions in the foreground, so that the pods of a job go before it.
//
// # Invariants
//
//  1. A job is judged by what is there when its time comes, and deleted only if it is still so: one that is made again, or given another
//     time to live, is judged again.
//  2. Between the end of a job and its deletion nothing is done. A job whose condition does not say since when it is true stays.
package ttlafterfinished
