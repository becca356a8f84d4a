// Package hooktest is an admission webhook for tests: an HTTPS server with its own certificate, and configurations that
// name it.
//
// A test writes an object with the label scene. The configurations ask a webhook about it that behaves as the scene
// says, also badly. The module that records what a kube-apiserver answers uses the same webhook.
package hooktest
