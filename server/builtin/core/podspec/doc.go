// Package podspec defaults and validates the specs of pods.
//
// It owns the defaults and the validation of corev1.PodSpec and corev1.PodTemplateSpec, which pods and everything that
// makes pods share. What comes in is a spec of the v1 types; what goes out is that spec filled in, or a list of field
// errors with the paths and messages of the Kubernetes API server.
//
// Invariants:
//
//  1. Defaulting a spec a second time changes nothing.
//  2. Validation reads only: no spec is modified, and none is validated before it was defaulted.
//  3. Updates may keep a mistake that the stored object already has, if it is one of [Mistakes].
//
// Paths that look wrong here, such as `volumeMounts.subPath` without an index, are what clients have always been sent.
//
// The rules for the spec of a persistent volume are here too: of an object of its own, or inline in the attachment
// of a volume to a node.
package podspec
