// Package tuitest is a server of journeys for tests of the screen: it speaks kx.dev/v1alpha1 over HTTP and serves
// journeys recorded from a real server. A test triggers each event itself, so it waits for named events and never for
// time. [Picture] draws frames of the screen as SVG, for the documents.
package tuitest
