// Package deployment is the resource deployments: pods made from a template, replaced in steps when it changes.
//
// It owns their defaults, validation, columns and subresources. Whatever version of apps a client speaks, what comes in
// here is an apps/v1 Deployment: v1beta1 and v1beta2 are converted above rest, and the few rules that depend on the
// client's version ask the request in the context.
//
// A rollback, which only apps/v1beta1 can ask for, is an annotation of the stored object: apps/v1 has no field for it.
package deployment
