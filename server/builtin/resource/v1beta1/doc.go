// Package v1beta1 has the conversions and defaults of the kinds of resource.k8s.io that look different in v1beta1: claims,
// templates of claims, and slices.
//
// In comes an object of v1beta1 or of v1; out goes the same object in the other. A request for exactly one thing is part of
// the request itself in v1beta1, and so are the properties of a device part of a device that is basic. What is the same in
// both shares memory: neither side is modified.
package v1beta1
