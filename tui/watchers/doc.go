// Package watchers lists the receivers of a write's event: each watch of this server that got it, and those of the
// same resource that did not, with the reason if it is known.
//
// It takes the journey of a write and, optionally, the watch cache of its resource with its present watches. It is
// pure, and makes nothing up: a watch that has ended since is missing, and an unknown reason is reported as unknown.
package watchers
