// Package upstream asks kx and the Kubernetes API extensions server the same things over HTTP, and compares answers.
//
// It is a module of its own, so that kx does not depend on what it imports. Upstream's server is the real one, with its
// controllers, on an etcd of its own. The requests are those of server/crd/testdata/wire, whose expected answers are
// upstream's: -rewrite records them. To compare more, add requests there. What kx answers otherwise for a reason says so
// with "ask kx=otherwise", and why. What the tests find is repaired in kx, never here.
package upstream
