// Package v1alpha1 has the types of kx's own API group, kx.dev/v1alpha1: reports of a server about its requests and
// its state, and commands to it.
//
// It owns the form in which journeys are sent and nothing else: server/kxapi fills it in, and the screen and the prompt
// read it.
//
// +k8s:openapi-gen=true
// +groupName=kx.dev
package v1alpha1
