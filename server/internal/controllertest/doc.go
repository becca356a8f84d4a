// Package controllertest starts whole servers for the tests of controllers, and compares controllers with upstream's.
//
// In come options and a data directory. Out go a client of the API and a function that stops the server.
//
// [Scenes] are recorded from a kube-apiserver with its kube-controller-manager, and played on kx.
package controllertest
