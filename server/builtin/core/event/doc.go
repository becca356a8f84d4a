// Package event is the resource events of core/v1: what happened to which object. Events are stored with a time to live.
//
// They are checked as core/v1 events always were, leniently; the stricter rules of events.k8s.io belong to that group,
// which is not served.
package event
