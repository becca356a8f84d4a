// Package upstream asks kx and the Kubernetes API server's own library the same things over HTTP, and compares answers.
//
// It is a module of its own, so that kx does not depend on what it imports. Upstream's server is built of its library's
// parts with config maps as its only resource, by kx's strategy for them: that strategy has tests of its own, and what
// is compared here is all around it. What the tests find is repaired in kx, never here.
package upstream
