// Package controllerruntime runs operators, as people write them with controller-runtime, on a kx that is killed under them.
//
// It is a module of its own, so that kx does not depend on controller-runtime. Most of its tests start kx as a process, the way
// that a user does, because only a process can be killed. They hold for a kube-apiserver too, if the environment names its binary:
//
//	KUBE_APISERVER=/tmp/kube-apiserver go test .
package controllerruntime
