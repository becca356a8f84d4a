// Package tuitest is a server of journeys for tests of the screen: it speaks kx.dev/v1alpha1 over HTTP and tells what was
// recorded from a real one. A test decides what happens when, so that nothing has to be waited for but by its name.
package tuitest
