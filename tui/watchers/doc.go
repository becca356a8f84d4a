// Package watchers says whom the event of a write reached: each watch of this server that was sent it, and those of the
// same resource that were not, with the reason as far as it is known.
//
// What comes in are the journey of a write and, if somebody asked, the watch cache of its resource with its watches as
// they are now. It is pure, and makes nothing up: a watch that has ended since is not there, and where what is known does
// not tell why, that is said.
package watchers
