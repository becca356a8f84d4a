// Package event is the resource events of core/v1 and of events.k8s.io/v1: what happened to which object. Both groups have the
// same objects, which are stored as core/v1's, with a time to live.
//
// Events of core/v1 are checked as they always were, leniently. New events of events.k8s.io must say who did what when, and
// only their series may change. The version of a request decides, not that of the event.
package event
